"""A racetime.gg bot that rates races and explains what each race did to a rating."""

__version__ = "0.1.0"
