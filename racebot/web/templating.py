"""Jinja templates and the filters that format names, numbers and dates. Jinja escapes all text."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import cache, partial
from importlib import resources
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from racebot.text.format import counted, ordinal_ending, signed
from racebot.text.safe import initials, printable
from racebot.web import addresses
from racebot.web.addresses import link
from racebot.web.look import DEFAULT_LOOK, THEME, Look

STYLE = "assets/style.css"
ICON = "assets/icon.svg"
SCRIPTS = {name: f"assets/{name}.js" for name in ("page", "table", "graph", "compare", "search")}
SCRIPT_TYPE = "text/javascript; charset=utf-8"
LIVE_STYLE = "assets/live.css"
LIVE_SCRIPT = "assets/live.js"
OVERLAY_STYLE = "assets/overlay.css"
EMBED_STYLE = "assets/embed.css"
_CSS = "text/css; charset=utf-8"
SERVED_ASSETS = {LIVE_STYLE: _CSS, LIVE_SCRIPT: SCRIPT_TYPE, OVERLAY_STYLE: _CSS}
"""Assets of pages that only a server has."""
ASSETS = {
    STYLE: _CSS,
    ICON: "image/svg+xml",
    EMBED_STYLE: _CSS,
    **SERVED_ASSETS,
    **dict.fromkeys(SCRIPTS.values(), SCRIPT_TYPE),
}


def render(
    template: str, path: str, *, root: str | None = None, look: Look = DEFAULT_LOOK, **context: Any
) -> bytes:
    """Render a page from its template.

    Args:
        template: file name of the template.
        path: address of the page, from which relative links are made.
        look: title, accent color and footer.
        root: address of the pages, for a page whose links cannot be relative.
        context: values that the template shows.
    """
    found = _environment().get_template(template)
    href = partial(link, path) if root is None else partial(_absolute, root)
    text = found.render(
        path=path,
        href=href,
        look=look,
        theme=f"{href(THEME)}?v={look.accent.lstrip('#')}" if look.accent else None,
        asset=partial(_asset_link, href),
        scripts=SCRIPTS,
        **{"share": None, **context},
    )
    return text.encode(errors="replace")


@cache
def asset(path: str) -> bytes:
    """Return the content of a file in `ASSETS`."""
    return resources.files("racebot.web").joinpath(path).read_bytes()


@cache
def fingerprint(path: str) -> str:
    """Return a hash of an asset, which links contain so that browsers reload a changed asset."""
    return hashlib.sha256(asset(path)).hexdigest()[:10]


def shown_name(name: str, limit: int = 60) -> str:
    """Return a name from the site without invisible characters, cut to `limit` characters."""
    visible = printable(name).strip() or "?"
    return visible if len(visible) <= limit else visible[: limit - 1] + "…"


def day(moment: str | date) -> str:
    """Format a date, or the date of a time in UTC, as in 3 May 2026."""
    parsed = _parsed(moment) if isinstance(moment, str | datetime) else moment
    return f"{parsed.day} {parsed:%b %Y}"


def minute(moment: str | datetime) -> str:
    """Format a date with its time, as in 3 May 2026, 14:05 UTC."""
    return f"{day(moment)}, {_parsed(moment):%H:%M} UTC"


def timer(length: float) -> str:
    """Format a finish time given in seconds, as in 1:02:03."""
    minutes, seconds = divmod(int(length), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"


def ordinal(place: int) -> str:
    """Return a place as an ordinal, as in 22nd."""
    return f"{place}{ordinal_ending(place)}"


def gap(seconds: float) -> str:
    """Format the gap between two finish times, as in +0:07 or +1:02:03."""
    minutes, rest = divmod(int(seconds), 60)
    return f"+{timer(seconds)}" if minutes >= 60 else f"+{minutes}:{rest:02d}"


def percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f}%"


def _absolute(root: str, target: str) -> str:
    return f"{root}/{quote(target)}"


def _asset_link(href: Any, path: str) -> str:
    return f"{href(path)}?v={fingerprint(path)}"


def _iso(moment: datetime) -> str:
    return _parsed(moment).isoformat(timespec="seconds").replace("+00:00", "Z")


def _decimal(number: float) -> str:
    """Format a number with its sign and one decimal, as in +1.5."""
    text = f"{number:+.1f}".replace("-", "−")
    return "±0" if text[1:] == "0.0" else text


def _parsed(moment: str | datetime) -> datetime:
    parsed = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return parsed.astimezone(UTC)


def slug(race: str) -> str:
    """Return the slug of a race: its name without the category."""
    return shown_name(race.rpartition("/")[2])


def _host(address: str) -> str:
    return address.partition("://")[2]


def _sign(number: int) -> str:
    """Return the CSS class that colors a change. The sign carries the same meaning as the color."""
    return "gain" if number > 0 else "loss" if number < 0 else "same"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("racebot.web"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: Mapping[str, Any] = {
        "name": shown_name,
        "signed": signed,
        "sign": _sign,
        "day": day,
        "minute": minute,
        "timer": timer,
        "gap": gap,
        "percent": percent,
        "counted": counted,
        "ordinal": ordinal,
        "iso": _iso,
        "decimal": _decimal,
        "initials": initials,
        "slug": slug,
        "host": _host,
    }
    environment.filters.update(filters)
    environment.globals.update(addresses=addresses)
    return environment
