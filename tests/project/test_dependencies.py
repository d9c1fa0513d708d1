"""Check that every dependency is pinned, in CI and in the image. pip itself checks their hashes."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def pinned(name: str) -> dict[str, list[str]]:
    """Return the versions of each package in a lock file, which names no index."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"://|--(?:extra-)?index|--find-links|--trusted-host|^[./]| @ ", text, re.MULTILINE)
    found: dict[str, list[str]] = {}
    for package, version in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE):
        found.setdefault(canonicalize_name(package), []).append(version)
    return found


def test_each_dependency_is_pinned_and_the_image_has_the_versions_of_ci() -> None:
    image, ci = pinned("deploy/requirements.txt"), pinned("constraints.txt")
    for text in [*PROJECT["dependencies"], *(each for extra in EXTRAS.values() for each in extra)]:
        wanted = Requirement(text)
        name = canonicalize_name(wanted.name)
        if name != "racebot":
            assert ci.get(name), f"{wanted}: run `bash .ci/lock`"
            assert all(version in wanted.specifier for version in ci[name]), f"{wanted}: run `bash .ci/lock`"
        if text in [*PROJECT["dependencies"], *EXTRAS["web"]]:
            assert image[name] == ci[name]
