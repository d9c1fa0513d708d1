"""A small imitation of racetime.gg, for the demo, tests and backfills of saved races.

It imports nothing from racebot but `racebot.text`, so that it cannot share a mistake with the code it tests.
It reproduces observed behavior of the site: edited results are not broadcast, and race data is cached for
5 s.
"""
