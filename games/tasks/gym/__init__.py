"""Gymnasium environments with discrete actions as tasks."""
