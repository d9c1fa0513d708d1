"""Settles races into the ledger. Ratings are a function of stored results, operators' orders and settings."""
