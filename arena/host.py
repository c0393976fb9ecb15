"""What runs in a host process."""
