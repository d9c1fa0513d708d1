"""Evaluate and tune rating models on past races.

May import: errors, text, races, ratings.
Invariant: studies are pure, and every forecast is made before the race it is judged on.
"""
