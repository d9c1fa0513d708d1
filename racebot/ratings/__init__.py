"""Rating models: from players' states before a race and its outcome to their states after it.

May import: errors, races.
Invariant: pure. A model never sees a database, a name or a clock, and listing order changes nothing.
"""
