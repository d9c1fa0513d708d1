"""Run deploy/league.yml as GitHub would, against the sandbox, and check what workflows and pages install."""

import asyncio
import os
import re
import shlex
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from worker_support import PATIENCE

from racebot.ledger.orders import OrderKind
from racebot.ledger.store import Ledger
from racebot.sandbox.server import serve
from racebot.sandbox.site import FakeSite

ROOT = Path(__file__).parents[2]
LEAGUE = ROOT / "deploy" / "league.yml"
WORKFLOWS = [LEAGUE, *(ROOT / ".github" / "workflows").glob("*.yml")]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"), *WORKFLOWS]
STUBS = {
    "racebot": f'exec {shlex.quote(sys.executable)} -m racebot "$@"',
    "pip": 'echo "$@" >>"$LOG"; [[ " $* " == *" --require-hashes "* || " $* " == *" --no-deps "* ]]',
    "gh": 'echo gh "$@" >>"$LOG"; if [[ $1 == api ]]; then echo "$RUN"; else cp "$COPY" state/racebot.db; fi',
}


def committed(clone: Path) -> str:
    """Make a repository with what the workflow installs, and return its commit."""
    shutil.copytree(ROOT / "deploy", clone / "deploy")
    git = "git -c user.name=x -c user.email=x@example.org"
    script = f"git init --quiet; git add .; {git} commit --quiet --message x; git rev-parse HEAD"
    return subprocess.run(
        ["/bin/bash", "-ec", script], cwd=clone, check=True, capture_output=True, text=True
    ).stdout.strip()


def carry_out(job: dict[str, Any], folder: Path, environment: dict[str, str], **inputs: str) -> str:
    """Run the scripts of a job as GitHub's `shell: bash` does. Inputs reach a script by its `env` only."""
    printed = ""
    for step in job["steps"]:
        script = step.get("run")
        if script is None or ("if" in step and not inputs):
            continue
        own = {
            name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: inputs[found[1]], value)
            for name, value in step.get("env", {}).items()
        }
        assert "${{" not in script
        done = subprocess.run(
            ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=folder,
            env=environment | own,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        printed += done.stdout
        assert done.returncode == 0, f"{step.get('name', script)}: {done.stdout}"
    return printed


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
async def test_league_without_a_server_keeps_orders_when_its_cache_is_lost(tmp_path: Path) -> None:
    workflow = yaml.safe_load(LEAGUE.read_text(encoding="utf-8"))
    job, folder, programs = workflow["jobs"]["rate"], tmp_path / "league", tmp_path / "bin"
    clone, log = tmp_path / "clone", tmp_path / "log"
    for path in (folder / "state", programs, clone, tmp_path / "runner"):
        path.mkdir(parents=True)
    for name, script in STUBS.items():
        (programs / name).write_text(f"#!/bin/bash\n{script}\n")
        (programs / name).chmod(0o755)
    commit = committed(clone)
    site = FakeSite(category="ootr")
    racers = [site.add_user(name).id for name in ("Ann", "Bo", "Cy")]
    rooms = []
    for _ in range(2):
        rooms.append(room := site.open_race("SGL 2026 q1", custom_goal=True))
        for racer in racers:
            room.enter(racer)
        room.start(ago=timedelta(hours=4))
        for minutes, racer in enumerate(racers):
            room.finish(racer, timedelta(hours=1, minutes=minutes))
        room.ended_at = room.started_at and room.started_at + timedelta(hours=1, minutes=2)
    page = (ROOT / "docs" / "leagues.md").read_text(encoding="utf-8")
    (folder / "racebot.toml").write_text(
        re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0]
    )
    async with serve(site) as address:
        environment = {name: str(value) for name, value in job["env"].items()} | {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "LOG": str(log),
            "COPY": str(folder / "copy" / "racebot.db"),
            "RUN": "7",
            "RUNNER_TEMP": str(tmp_path / "runner"),
            "GITHUB_REPOSITORY": "ann/league",
            "PROGRAM": f"file://{clone}",
            "COMMIT": commit,
            "RACEBOT_SITE": address,
            "RACEBOT_REQUEST_INTERVAL": "0",
        }
        arguments = f'{rooms[0].name} --reason "wrong seed; $(touch owned) `touch owned`"'
        first = environment | {"RUN": ""}
        await asyncio.to_thread(carry_out, job, folder, first, order="skip", arguments=arguments)
        shutil.rmtree(folder / "state")
        shutil.rmtree(tmp_path / "runner" / "racebot")
        (folder / "state").mkdir()
        arguments = f'{racers[2]} "{site.add_user("New").full_name}" --yes'
        await asyncio.to_thread(carry_out, job, folder, environment, order="merge", arguments=arguments)

    with Ledger.open_to_read(folder / "state" / "racebot.db") as ledger:
        (board,) = ledger.leaderboards.all()
        assert [race.result.name for race in ledger.races.counted(board)] == [rooms[1].name]
        assert [each.name for each in ledger.standings.all(board)] == ["Ann", "Bo", "New"]
    assert not list(tmp_path.rglob("owned"))
    assert (folder / "site" / "index.html").exists()
    assert rooms[1].name in (folder / "site" / "results.json").read_text(encoding="utf-8")
    installed = [line for line in log.read_text().splitlines() if line.startswith("install")]
    assert len(installed) == 4
    assert "gh run download 7" in log.read_text()


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_use_actions_at_a_commit_and_packages_by_hash(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    used, installed = re.findall(r"uses: (\S+)", text), re.findall(r"pip install .*", text)
    assert all("--require-hashes" in each or "--no-deps" in each for each in installed)
    assert used
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each) for each in used)


def test_every_order_can_be_given_in_a_run_by_hand() -> None:
    form = yaml.safe_load(LEAGUE.read_text(encoding="utf-8"))[True]["workflow_dispatch"]  # True is "on"
    offered = {*form["inputs"]["order"]["options"]}
    assert {each.value for each in OrderKind} - {"restore"} == offered - {"none"}


def test_job_that_publishes_a_league_runs_no_program() -> None:
    jobs = yaml.safe_load(LEAGUE.read_text(encoding="utf-8"))["jobs"]
    able = {name for name, job in jobs.items() if "write" in job["permissions"].values()}
    assert able == {"publish"}
    assert not any("run" in step for step in jobs["publish"]["steps"])


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_racebot_is_never_installed_by_name_from_an_index(page: Path) -> None:
    """No such package is published, so anybody could register the name."""
    text = page.read_text(encoding="utf-8")
    assert not re.search(
        r"(pip|pipx|uv|uvx) (install |tool install |run )?[^\n|&`]*(?<![/.\w])racebot\b(?!/)", text
    )
