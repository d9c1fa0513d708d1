"""Public pages and data, served or written as files by the same code. Needs the extra `web`.

Every document has one path, such as `races/smr/curious-midfast-0534.html`. `addresses` writes and reads
paths, `pages` renders the document of one, `server` serves it, `export` writes all of them as files.
"""

from importlib.util import find_spec

_NEEDED = ("jinja2", "starlette", "uvicorn")


def missing() -> str | None:
    """Return how to install the extra; None if it is installed."""
    if all(find_spec(name) for name in _NEEDED):
        return None
    return "the pages are not installed: pip install 'racebot[web]' (in a clone: pip install -e '.[web]')"
