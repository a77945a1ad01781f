"""TPC-H: `generate` writes small tables, `mapping.yaml` imports them, and `queries` has the 22 queries."""
