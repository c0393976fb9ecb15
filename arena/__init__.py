"""Play one match fairly, many at once; this floor knows no database."""
