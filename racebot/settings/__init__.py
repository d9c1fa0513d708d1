"""Operators' settings: `model` declares them, `sources` reads the environment, `.env` and `racebot.toml`.

Invariant: every problem is reported at once, with its place and its fix, and no secret is ever shown.
"""
