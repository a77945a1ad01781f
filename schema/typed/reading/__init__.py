"""Typed fields that read: from a selection to EDN queries, and from their answers to JSON."""
