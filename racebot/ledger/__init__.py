"""The SQLite database: everything about one race is written in one transaction, or nothing is."""
