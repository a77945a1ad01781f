"""Excision: what leaves the data in memory and the payloads of the log, and what takes its place there."""
