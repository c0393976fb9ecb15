"""Make agents better: credit, samples, trainers, checkpoints."""

import os

# Read when the packages behind it are first imported. Nothing is told to anyone; and threads that are told nothing wait
# for each other in a loop, which multiplies the time of small steps where anyone else computes on the machine.
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
