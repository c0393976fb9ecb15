"""Environments of other packages as tasks: one module for each."""
