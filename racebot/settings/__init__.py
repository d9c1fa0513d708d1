"""Operators' settings: declared in `model`, read from environment, `.env` and `racebot.toml` by `sources`.

May import: chat and everything below it.
Invariant: every problem is reported at once, with its place and its fix, and no secret is ever shown.
"""
