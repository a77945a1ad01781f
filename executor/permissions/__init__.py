"""Who sees and changes what: policies as the database has them, and guards made of them for an identity."""
