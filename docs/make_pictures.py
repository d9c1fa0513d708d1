"""Make every picture of README.md and the documentation, in docs/images: `python docs/make_pictures.py`.

The pictures show a sandbox with simulated racers; nobody in them exists. They need the extra `dev`, and
Chromium, whose path is in CHROMIUM (by default /usr/bin/chromium).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPTS = ("rooms", "readme", "website", "sharing")


def main() -> None:
    folder = Path(__file__).parent / "pictures"
    for name in SCRIPTS:
        # One process each: some use Playwright's threads, others its event loop.
        subprocess.run([sys.executable, folder / f"{name}.py"], check=True)  # noqa: S603 - our own scripts


if __name__ == "__main__":
    main()
