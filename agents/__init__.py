"""Who plays: agents see observations only."""
