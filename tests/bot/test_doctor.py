from __future__ import annotations

from pathlib import Path

import pytest

from racebot.bot.doctor import examine
from racebot.settings.model import Settings


@pytest.mark.parametrize("name", [".env", "racebot.toml", "racebot.db", "client-secret"])
@pytest.mark.parametrize(("mode", "found"), [(0o600, False), (0o640, False), (0o644, True), (0o602, True)])
async def test_doctor_names_world_readable_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, mode: int, found: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RACEBOT_CLIENT_SECRET_FILE", "client-secret")
    Path(name).touch(mode=0o600)
    Path(name).chmod(mode)
    wrong = [each.text async for each in examine(Settings(database=Path("racebot.db"))) if not each.good]
    assert any(text.startswith(f"{name}: ") and f"chmod o= {name}" in text for text in wrong) is found
