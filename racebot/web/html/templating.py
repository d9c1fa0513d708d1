"""Jinja templates and the filters that format names, numbers and dates. Jinja escapes all text."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket

from racebot.text.format import counted, integer, signed
from racebot.text.safe import initials
from racebot.web.html import formats, fragments
from racebot.web.site import addresses
from racebot.web.site.addresses import link
from racebot.web.site.look import DEFAULT_LOOK, THEME, THEME_ICON, Look

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
    version = f"?v={look.accent.lstrip('#')}"
    href = partial(link, path) if root is None else partial(_absolute, root)
    text = found.render(
        path=path,
        href=href,
        look=look,
        theme=f"{href(THEME)}{version}" if look.accent else None,
        icon=f"{href(THEME_ICON)}{version}" if look.accent else _asset_link(href, ICON),
        asset=partial(_asset_link, href),
        scripts=SCRIPTS,
        **{"share": None, "updated": None, **context},
    )
    return text.encode(errors="replace")


@cache
def asset(path: str) -> bytes:
    """Return the content of a file in `ASSETS`."""
    return resources.files("racebot.web.html").joinpath(path).read_bytes()


@cache
def fingerprint(path: str) -> str:
    """Return a hash of an asset, which links contain so that browsers reload a changed asset."""
    return hashlib.sha256(asset(path)).hexdigest()[:10]


def _absolute(root: str, target: str) -> str:
    return f"{root}/{addresses.quoted(target)}"


def _asset_link(href: Any, path: str) -> str:
    return f"{href(path)}?v={fingerprint(path)}"


class _CompiledTemplates(FileSystemBytecodeCache):
    """Compiled templates, kept beside the templates like Python's own bytecode: compiling takes 0.1 s."""

    def __init__(self) -> None:
        super().__init__(str(resources.files("racebot.web.html") / "templates" / "__pycache__"))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write a compiled template, if the folder can be written."""
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                Path(self.directory).mkdir(exist_ok=True)
                super().dump_bytecode(bucket)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("racebot.web.html"),
        bytecode_cache=_CompiledTemplates(),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: Mapping[str, Any] = {
        "name": formats.shown_name,
        "plain_name": formats.plain_name,
        "latin": formats.latin,
        "race_title": formats.race_title,
        "standing": formats.standing,
        "signed": signed,
        "integer": integer,
        "sign": formats.sign,
        "day": formats.day,
        "clock": formats.clock,
        "minute": formats.minute,
        "timer": formats.timer,
        "gap": formats.gap,
        "percent": formats.percent,
        "counted": counted,
        "ordinal": formats.ordinal,
        "percentile": formats.percentile,
        "iso": formats.iso,
        "initials": initials,
        "slug": formats.slug,
        "host": formats.host,
        "change": fragments.change,
        "medal": fragments.medal,
        "date": fragments.date,
        "dots": fragments.dots,
        "bar": fragments.bar,
        "score": fragments.score,
        "segment": addresses.segment,
        "gained": fragments.gained,
    }
    environment.filters.update(filters)
    environment.globals.update(addresses=addresses)
    return environment
