"""The database as a value: snapshots, raw datoms, and what lies between two of them."""
