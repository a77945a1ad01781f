"""Who runs when: lanes, and fairness between clients."""
