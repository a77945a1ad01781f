"""What the passes work on, as plain data: atoms over unique variables, programs of rules, plans."""
