"""What is recognized in files of races: `known.toml` says it, and how."""

import tomllib
from importlib import resources

KNOWN = tomllib.loads(resources.files(__package__).joinpath("known.toml").read_text(encoding="utf-8"))
