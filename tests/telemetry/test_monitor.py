from __future__ import annotations

import socket

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from worker_support import PATIENCE

from racebot.errors import SettingsError
from racebot.telemetry.monitor import Monitor


def test_bot_is_healthy_while_every_category_was_seen_recently() -> None:
    ages: dict[str, float | None] = {"orb": 3.04, "cube": None}
    with Monitor("127.0.0.1", 0, ages=lambda: ages, health_timeout=300) as monitor:
        address = f"http://127.0.0.1:{monitor.port}/healthz"
        answer = httpx.get(address, timeout=PATIENCE)
        assert answer.status_code == 503
        assert answer.json() == {"status": "not well", "seconds_since_seen": {"orb": 3.0, "cube": None}}
        ages["cube"] = 299.0
        assert httpx.get(address, timeout=PATIENCE).status_code == 200
        ages["orb"] = 301.0
        assert httpx.get(address, timeout=PATIENCE).status_code == 503


def test_metrics_have_the_prometheus_format() -> None:
    with Monitor("127.0.0.1", 0, ages=dict, health_timeout=300) as monitor:
        text = httpx.get(f"http://127.0.0.1:{monitor.port}/metrics", timeout=PATIENCE).text
    names = {family.name for family in text_string_to_metric_families(text)}
    assert {"racebot_build_info", "racebot_settle_seconds", "racebot_message_seconds"} <= names


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("POST", "/metrics"), ("GET", "/../etc/passwd")])
def test_other_paths_are_not_found(method: str, path: str) -> None:
    with Monitor("127.0.0.1", 0, ages=dict, health_timeout=300) as monitor:
        address = f"http://127.0.0.1:{monitor.port}{path}"
        assert httpx.request(method, address, timeout=PATIENCE).status_code == 404


def test_silent_connection_blocks_no_other() -> None:
    with (
        Monitor("127.0.0.1", 0, ages=dict, health_timeout=300) as monitor,
        socket.create_connection(("127.0.0.1", monitor.port)),
    ):
        assert httpx.get(f"http://127.0.0.1:{monitor.port}/healthz", timeout=PATIENCE).status_code == 200


def test_port_in_use_is_a_settings_error() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(SettingsError, match=r"RACEBOT_MONITOR_PORT=\d+: cannot listen on 127.0.0.1"),
    ):
        Monitor("127.0.0.1", taken.getsockname()[1], ages=dict, health_timeout=300)
