"""From the parsed query to the logical tree, and where the values of its variables stand."""
