"""Sokoban: rooms, their generator, the search that solves them, and the game."""
