"""Who meets whom, who is better, and what is kept."""
