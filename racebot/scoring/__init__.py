"""Scores of races by par, and the standings that leagues compute from them. Pure functions of results."""
