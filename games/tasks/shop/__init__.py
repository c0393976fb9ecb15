"""The shop: catalogues, their search, what a purchase is worth, and the game."""
