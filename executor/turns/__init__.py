"""The order in which queries run: lanes, and fairness between clients."""
