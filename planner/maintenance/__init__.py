"""What to join for each change of what a query reads: its answer is kept up to date without asking it again."""
