"""What takes the place of values that are gone."""
