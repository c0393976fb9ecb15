"""What is kept: one DuckDB file."""
