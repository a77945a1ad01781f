"""Proposes a mapping and a schema for files, with the evidence for each guess."""
