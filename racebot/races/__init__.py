"""Race results as facts, and the outcomes and rating changes they lead to.

May import: errors, text.
Invariant: pure. No I/O, no clock, no randomness; the same result always gives the same outcome.
"""
