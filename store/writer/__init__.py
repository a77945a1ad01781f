"""The one thread that changes the database, and the transactions that wait for it."""
