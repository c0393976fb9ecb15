"""What is kept: tournaments, matches and ratings in one DuckDB file. Nothing outside this package imports duckdb."""
