"""The database as a value: log, codes, tries, segments, snapshots and transactions."""

assert __name__ == "adalog.store", "import adalog.store"
