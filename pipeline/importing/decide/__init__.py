"""What rows come to in one state of the database: keys, claims, rejected rows, segments."""
