"""Data and queries to try adalog with: Debian packages, the Lovelace family, triangles."""
