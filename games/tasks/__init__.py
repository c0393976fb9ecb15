"""Single-agent tasks: games of one seat, each with numbered instances and an advisor that solves them."""
