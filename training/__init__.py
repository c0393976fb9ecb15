"""Make agents better: credit, samples, trainers, checkpoints."""
