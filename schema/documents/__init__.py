"""GraphQL documents: measured, prepared once, executed many times."""
