"""Names the platform and the library versions that compute ratings."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version


@cache
def this_platform() -> str:
    """Return the versions and hardware that can change the last bits of a rating."""
    return (
        f"racebot {version('racebot')}, {platform.system()} {platform.machine()}, {platform.libc_ver()[0] or 'libc'} "
        f"{platform.libc_ver()[1]}, Python {platform.python_version()}, "
        f"numpy {version('numpy')}, scipy {version('scipy')}"
    )
