"""Public pages and a JSON API. The same code serves them over HTTP and exports them as files.

Needs the extra `web`. Every document has a path, such as `races/smr/curious-midfast-0534.html`:
`site.addresses` builds and parses paths, `routes` finds the document at a path, `http` serves it, and
`export` writes every document to a folder.

May import: chat and everything below it.
Invariant: pages read the ledger and the live file, and write neither.
"""

from importlib.util import find_spec

from racebot.errors import install_hint

_NEEDED = ("fontpkg_inter", "jinja2", "orjson", "PIL", "starlette", "uvicorn")


def missing() -> str | None:
    """Return how to install the `web` extra, or None if it is installed."""
    if all(find_spec(name) for name in _NEEDED):
        return None
    return f"the pages are not installed: {install_hint('web')}"
