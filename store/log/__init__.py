"""The log of transactions, in SQLite and on PostgreSQL: the truth that everything else is made from."""
