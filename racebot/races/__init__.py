"""Races as facts, as partial orderings, and as files."""
