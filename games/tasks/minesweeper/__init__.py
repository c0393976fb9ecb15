"""MineSweeper: boards, exact probabilities of mines, and the game."""
