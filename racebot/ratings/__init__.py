"""Rating models: compute players' new states from a race's outcome and their states before it.

Invariant: models are pure. They use no database, player names or clock, and do not depend on the order in
which entrants are listed.
"""
