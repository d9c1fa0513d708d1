"""Sphinx builds the documentation site from the Markdown files: see CONTRIBUTING.md.

The source folder is the repository's root, so that links between pages work here and on a forge alike.
"""

import json
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
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/*.md",
    "examples/*.ipynb",
]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
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


def _read_notebook(app: Sphinx, docname: str, source: list[str]) -> None:
    """Turn a notebook into Markdown with its stored outputs."""
    if Path(app.env.doc2path(docname)).suffix != ".ipynb":
        return
    parts = []
    for cell in json.loads(source[0])["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        for output in cell.get("outputs", []):
            data = output.get("data", {"text/plain": output.get("text")})
            html = "".join(data.get("text/html", []))
            parts.append(html or f"```text\n{''.join(data['text/plain'])}\n```")
    source[0] = "\n\n".join(parts)


def setup(app: Sphinx) -> None:
    app.connect("source-read", _read_notebook)
    app.connect("build-finished", _copy_images)
