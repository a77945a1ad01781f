"""Data and queries to try adalog with: Debian packages, the Lovelace family, triangles."""

assert __name__ == "adalog.examples", "import adalog.examples"
