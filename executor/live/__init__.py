"""Live queries: the hub that follows the database, and its subscribers."""
