"""Measures and tunes rating models on past races.

May import: errors, text, races, ratings.
Invariant: pure. Every forecast is made before the race it is judged on.
"""
