"""Imports: rows of files to datoms in segments, every step of it tasks of Spark's workers."""
