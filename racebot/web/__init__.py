"""Pages and data for everybody to read, served or written as files by the same code. An extra of the package.

What there is has one path, such as `races/smr/curious-midfast-0534.html`: `addresses` makes and reads
them, `site` renders what belongs to one, `server` serves it and `export` writes all of them down.
"""

from importlib.util import find_spec

_NEEDED = ("jinja2", "starlette", "uvicorn")


def missing() -> str | None:
    """What to do where the extra is not installed; None where it is."""
    if all(find_spec(name) for name in _NEEDED):
        return None
    return "the pages are not installed: pip install 'racebot[web]' (in a clone: pip install -e '.[web]')"
