"""A small imitation of racetime.gg, for the demo, tests and backfills of saved races.

It may import `racebot.text` and nothing else of racebot, so that it shares no mistake with the code that it
tests. It behaves as the site was measured to: an edited result is saved silently, and a race's data is cached
for 5 s.
"""
