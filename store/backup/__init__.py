"""Backups: several in one place, sharing files; restored to any transaction; checked as a data folder is."""
