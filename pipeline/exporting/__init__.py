"""Exports: a view of the database as files, an attribute in a folder; written by tasks, each an entity range."""
