"""The database as a value: log, codes, tries, segments, snapshots and transactions."""
