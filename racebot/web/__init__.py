"""Public pages and a JSON API. The same code serves them over HTTP and exports them as files.

Needs the extra `web`. Every document has a path, such as `races/smr/curious-midfast-0534.html`:
`racebot.addresses` builds and parses paths, `routes` finds the document at a path, `http` serves it, and
`export` writes every document to a folder.

Invariant: pages read the ledger and the live file, and write neither.
"""
