"""What a change of the database makes of an answer: views that are kept up to date. Knows no subscribers."""
