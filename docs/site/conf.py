"""Sphinx builds the documentation site from the Markdown files: see CONTRIBUTING.md.

The source folder is the repository's root, so that links between pages work here and on a forge alike.
"""

import shutil
import tomllib
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.highlighting import lexers

_ROOT = Path(__file__).parents[2]
_VERSION = {}
exec((_ROOT / "racebot" / "__init__.py").read_text(encoding="utf-8"), _VERSION)  # noqa: S102 - one line of our own

project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"]
author = "The racebot contributors"
copyright = author  # noqa: A001 - Sphinx's name for it
version = release = _VERSION["__version__"]

extensions = ["myst_parser", "sphinx_external_toc"]
external_toc_path = "docs/site/toc.yml"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md"]
myst_heading_anchors = 3
nitpicky = True

lexers["csv"] = TextLexer()

html_theme = "furo"
html_title = f"racebot {version}"
html_copy_source = False
html_show_sphinx = False


def _copy_images(app: Sphinx, error: Exception | None) -> None:
    """Copy the pictures of README.md, which Sphinx does not find in its HTML."""
    if error is None and app.builder.format == "html":
        shutil.copytree(_ROOT / "docs" / "images", Path(app.outdir) / "docs" / "images", dirs_exist_ok=True)


def setup(app: Sphinx) -> None:
    app.connect("build-finished", _copy_images)
