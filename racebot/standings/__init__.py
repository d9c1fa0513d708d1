"""Settles races into the ledger, replays leaderboards, and answers questions about them.

May import: errors, text, observe, races, ratings, ledger, racetime, study.
Invariant: ratings are a function of stored results, operators' orders and settings.
"""
