"""Parts of a query as extenders: data patterns, relations, functions, changes of a database."""
