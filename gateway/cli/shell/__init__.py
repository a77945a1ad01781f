"""`adalog repl`: a shell for queries, transactions and commands."""
