"""Makes text and JSON from outside safe to read and to show.

May import: errors.
Invariant: pure, and every result is bounded.
"""
