"""Jobs that clients ask for: imports and backups."""
