"""What Metarena costs, measured beside its peers in one run: `python -m benchmarks`."""
