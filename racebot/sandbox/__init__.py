"""A small racetime.gg to try the bot against: for the demo, for tests, and for a backfill of saved races."""
