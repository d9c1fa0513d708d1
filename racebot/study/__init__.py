"""Evaluate and tune rating models on past races.

Invariant: studies are pure, and every forecast is made before the race it is judged on.
"""
