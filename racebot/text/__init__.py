"""Text and JSON from outside made safe to read and to show.

May import: errors.
Invariant: pure, and every result is bounded.
"""
