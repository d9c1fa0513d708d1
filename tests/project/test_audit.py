"""The audit of dependencies fails for what it finds, and does not pass for sound what it did not look at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

AUDIT = Path(__file__).parents[2] / ".ci" / "audit.py"
SOUND = {"name": "httpx", "version": "0.28.1", "vulns": []}
SKIPPED = {"name": "orb", "skip_reason": "Dependency not found on PyPI and could not be audited"}
VULNERABLE = {
    "name": "orb",
    "version": "1.0",
    "vulns": [{"id": "PYSEC-2026-1", "fix_versions": ["1.1"], "aliases": [], "description": "Bad."}],
}


def audited(folder: Path, script: str) -> tuple[int, str]:
    """Exit code and output of the audit with this in the place of pip-audit."""
    (folder / "pip_audit.py").write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(AUDIT), "requirements.txt"],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def answering(*packages: dict[str, Any], code: int = 0) -> str:
    return f"import sys; print({json.dumps({'dependencies': packages, 'fixes': []})!r}); sys.exit({code})"


def test_what_is_vulnerable_fails_naming_the_mend(tmp_path: Path) -> None:
    code, told = audited(tmp_path, answering(SOUND, VULNERABLE, SKIPPED, code=1))
    assert code == 1
    assert told == "orb 1.0: PYSEC-2026-1, mended in 1.1\n"


def test_what_is_sound_passes(tmp_path: Path) -> None:
    assert audited(tmp_path, answering(SOUND)) == (0, "1 packages, no known vulnerability\n")


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (answering(SOUND, SKIPPED), "only 1 of 2 packages have advisories to look through"),
        (answering(SKIPPED), "only 0 of 1 packages"),
        ("import sys; sys.exit('ERROR: Could not connect')", "cannot be had: ERROR: Could not connect"),
        ("raise ImportError('no requests')", "cannot be had: ImportError: no requests"),
        ("print('<html>')", "cannot be had: no answer"),
    ],
)
def test_what_could_not_be_looked_at_is_a_warning(tmp_path: Path, script: str, told: str) -> None:
    code, output = audited(tmp_path, script)
    assert code == 0
    assert output.startswith("WARNING, not audited: ")
    assert told in output
