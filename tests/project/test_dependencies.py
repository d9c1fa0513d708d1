"""Check that every dependency is pinned, explained, and from the public index."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
USED = {*PROJECT["dependencies"], *(each for extra in EXTRAS.values() for each in extra)}
USED = {each for each in USED if not each.startswith("racebot")}
LOCKS = ("constraints.txt", "deploy/requirements.txt", "deploy/build-requirements.txt")


def pinned(name: str) -> dict[str, list[tuple[Version, int]]]:
    """Return the versions of each package in a lock file, each with its number of hashes."""
    found: dict[str, list[tuple[Version, int]]] = {}
    text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if match := re.match(r"([\w.-]+)==(\S+)", line):
            entry = Version(match[2]), line.count("--hash=sha256:")
            found.setdefault(canonicalize_name(match[1]), []).append(entry)
    return found


def test_each_dependency_is_pinned_to_a_version_that_fits() -> None:
    locked = pinned("constraints.txt")
    for wanted in map(Requirement, USED):
        versions = locked.get(canonicalize_name(wanted.name), [])
        assert versions, f"{wanted}: run `bash .ci/lock`"
        assert all(version in wanted.specifier for version, _ in versions), f"{wanted}: run `bash .ci/lock`"


def test_image_has_each_dependency_in_the_version_of_ci() -> None:
    image, ci = pinned("deploy/requirements.txt"), pinned("constraints.txt")
    for requirement in [*PROJECT["dependencies"], *EXTRAS["web"]]:
        name = canonicalize_name(Requirement(requirement).name)
        assert image[name] == ci[name]


@pytest.mark.parametrize("name", LOCKS)
def test_each_pin_has_a_hash_and_the_lock_names_no_index(name: str) -> None:
    assert all(hashes for entries in pinned(name).values() for _, hashes in entries)
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"://|--(?:extra-)?index|--find-links|--trusted-host|^[./]| @ ", text, re.MULTILINE)


def test_each_dependency_is_explained() -> None:
    table = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("## Dependencies")[1]
    tools = {*EXTRAS["dev"], *EXTRAS["docs"], *EXTRAS["test"]}
    names = {Requirement(each).name for each in USED - tools}
    packages = " ".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE))
    assert names <= set(re.findall(r"[a-z][a-z0-9-]+", packages))
