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
USED = [*PROJECT["dependencies"], *(each for name in sorted(EXTRAS) for each in EXTRAS[name])]
LOCKS = ("constraints.txt", "deploy/requirements.txt")


def pinned(name: str) -> dict[str, list[tuple[Version, int]]]:
    """Return the versions of each package in a lock file, each with its number of hashes."""
    found: dict[str, list[tuple[Version, int]]] = {}
    text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if match := re.match(r"([\w.-]+)==(\S+)", line):
            entry = Version(match[2]), line.count("--hash=sha256:")
            found.setdefault(canonicalize_name(match[1]), []).append(entry)
    return found


@pytest.mark.parametrize("requirement", sorted(set(USED)))
def test_each_dependency_is_pinned_to_a_version_that_fits(requirement: str) -> None:
    wanted = Requirement(requirement)
    if wanted.name == "racebot":
        return
    versions = pinned("constraints.txt").get(canonicalize_name(wanted.name), [])
    assert versions, "run `bash .ci/lock`"
    assert all(version in wanted.specifier for version, _ in versions), "run `bash .ci/lock`"


@pytest.mark.parametrize("requirement", [*PROJECT["dependencies"], *EXTRAS["web"]])
def test_image_has_each_dependency_in_the_version_of_ci(requirement: str) -> None:
    name = canonicalize_name(Requirement(requirement).name)
    assert pinned("deploy/requirements.txt")[name] == pinned("constraints.txt")[name]


@pytest.mark.parametrize("name", LOCKS)
def test_each_pin_has_a_hash(name: str) -> None:
    for package, entries in pinned(name).items():
        assert all(hashes for _, hashes in entries), package


@pytest.mark.parametrize("name", LOCKS)
def test_lock_names_no_index(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"://|--(?:extra-)?index|--find-links|--trusted-host|^[./]| @ ", text, re.MULTILINE)


def test_each_dependency_is_explained() -> None:
    table = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("## Dependencies")[1]
    tools = {*EXTRAS["dev"], *EXTRAS["docs"], *EXTRAS["test"]}
    names = {Requirement(each).name for each in USED if each not in tools} - {"racebot"}
    packages = " ".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE))
    explained = set(re.findall(r"[a-z][a-z0-9-]+", packages))
    assert names <= explained, names - explained


def test_the_sandbox_installs_everything_that_pages_need() -> None:
    """`racebot demo --open` serves them."""
    assert "racebot[web]" in EXTRAS["sandbox"]
