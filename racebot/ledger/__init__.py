"""The SQLite database: schema, reads and writes, outbox, backups and the worker's lock.

May import: errors, text, observe, races, ratings.
Invariant: everything about one race is written in one transaction, or nothing is.
"""
