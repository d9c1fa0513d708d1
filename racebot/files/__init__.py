"""Reads files of past races: rows, then columns by their layout, then races and what was understood."""
