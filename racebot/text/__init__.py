"""Makes text and JSON from outside safe to read and to show.

Invariant: pure, and every result is bounded.
"""
