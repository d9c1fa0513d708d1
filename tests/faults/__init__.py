"""The real worker against a site that misbehaves, against kills, and against a disk that is full.

`PYTHONPATH=tests python -m faults --help` runs any of it at any length; the tests run short ones.
"""
