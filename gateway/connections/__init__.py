"""Connections: bytes in, bytes out, with limits on both."""
