"""A household in words: rooms with furniture and things, their generator, the engine, an expert and the game."""
