"""From transaction data to the datoms that come and go, against one state of the database."""
