"""Finds out how this copy of racebot was installed, and which command adds an extra to it.

The package index may hold a stranger's package of the same name, so the command names the place that this
copy came from. Installers record it: https://packaging.python.org/en/latest/specifications/direct-url/.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from racebot import __version__

NAME = "racebot"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where this copy came from.

    Attributes:
        folder: the source folder of an editable installation, or None.
        url: an address that pip can install from, or None for the package index.
        revision: the branch, tag or commit that was asked for, or None.
        commit: the commit of an installation from Git, or None.
    """

    folder: Path | None = None
    url: str | None = None
    revision: str | None = None
    commit: str | None = None

    def requirement(self, *extras: str) -> str:
        """Return the requirement that installs this copy again, with extras."""
        wanted = f"[{','.join(extras)}]" if extras else ""
        if self.folder is not None:
            here = self.folder == Path.cwd()
            return f"{'.' if here else self.folder}{wanted}"
        if self.url is None:
            return f"{NAME}{wanted}=={__version__}"
        return f"{NAME}{wanted} @ {self.url}{f'@{self.revision}' if self.revision else ''}"


def origin() -> Origin:
    """Return where this copy came from."""
    installed = _distribution()
    if installed is None:  # run from its source folder, without installation
        return Origin(folder=Path(__file__).parents[2])
    recorded = json.loads(installed.read_text("direct_url.json") or "{}")
    url = str(recorded.get("url", ""))
    if recorded.get("dir_info", {}).get("editable"):
        return Origin(folder=Path(url2pathname(urlsplit(url).path)))
    if vcs := recorded.get("vcs_info"):
        address = f"{vcs['vcs']}+{url}"
        return Origin(url=address, revision=vcs.get("requested_revision"), commit=vcs.get("commit_id"))
    return Origin(url=url or None)


def install_command(extra: str, *, prefix: Path | None = None) -> str:
    """Return the command that adds an extra to this copy, in the way in which it was installed.

    Args:
        extra: the name of the extra, such as `web`.
        prefix: the folder of the environment; by default, that of this process.
    """
    prefix = Path(sys.prefix) if prefix is None else prefix
    source = origin()
    editable = ["--editable"] if source.folder is not None else []
    # Both of these make a new environment, so name the extras that this one has, too.
    everything = source.requirement(*sorted({extra, *_installed_extras()}))
    if (prefix / "pipx_metadata.json").exists():
        return _quoted("pipx", "install", "--force", *editable, everything)
    if (prefix / "uv-receipt.toml").exists():
        return _quoted("uv", "tool", "install", "--force", *editable, everything)
    install = ["-m", "pip", "install"] if find_spec("pip") else []
    program = [sys.executable, *install] if install else ["uv", "pip", "install", "--python", sys.executable]
    return _quoted(*program, *editable, source.requirement(extra))


def _distribution() -> Distribution | None:
    try:
        return distribution(NAME)
    except PackageNotFoundError:
        return None


def _installed_extras() -> set[str]:
    """Return the extras whose packages are all installed, apart from `dev`."""
    installed = _distribution()
    needed: dict[str, set[str]] = {}
    for requirement in (installed and installed.requires) or ():
        if found := re.match(r"([\w.-]+).*;.*\bextra *== *['\"]([\w-]+)", requirement):
            needed.setdefault(found[2], set()).add(found[1])
    return {extra for extra, names in needed.items() if extra != "dev" and all(map(_has, names))}


def _has(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _quoted(*words: str) -> str:
    """Quote words for the shell of this system."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
