"""Debian's package graph: `build` makes `packages.parquet` from apt's text, `load` puts it into a database."""
