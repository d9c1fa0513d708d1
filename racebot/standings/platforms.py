"""Names the platform and the library versions that compute ratings."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version


@cache
def this_platform() -> str:
    """Return the versions and hardware that can change the last bits of a rating."""
    libc, libc_version = platform.libc_ver()
    return (
        f"racebot {version('racebot')}, {platform.system()} {platform.machine()}, "
        f"{libc or 'libc'} {libc_version}, Python {platform.python_version()}, "
        f"numpy {version('numpy')}, scipy {version('scipy')}"
    )
