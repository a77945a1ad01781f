"""The delta compiler and its users: rounds of a recursion, reactions of live queries, kept derived relations."""
