"""The examples of docs/python.md run in order and print what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^(?:<!-- file: (\S+) -->\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_examples_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed = None
    blocks = _BLOCK.findall(PAGE)
    assert sum(kind == "python" for _, kind, _ in blocks) >= 5
    for file, kind, text in blocks:
        if file:
            (tmp_path / file).write_text(text, encoding="utf-8")
        elif kind == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(text, "docs/python.md", "exec"), names)  # noqa: S102 - our own page
            printed = output.getvalue()
        else:
            assert printed == text
