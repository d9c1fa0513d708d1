from __future__ import annotations

import socket

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from racebot.errors import SettingsError
from racebot.observe.http import Monitor


def test_well_while_every_category_was_seen_of_late() -> None:
    ages: dict[str, float | None] = {"orb": 3.04, "cube": None}
    with Monitor("127.0.0.1", 0, ages=lambda: ages, health_timeout=300) as monitor:
        address = f"http://127.0.0.1:{monitor.port}/healthz"
        answer = httpx.get(address)
        assert answer.status_code == 503
        assert answer.json() == {"status": "not well", "seconds_since_seen": {"orb": 3.0, "cube": None}}
        ages["cube"] = 299.0
        assert httpx.get(address).status_code == 200
        ages["orb"] = 301.0
        assert httpx.get(address).status_code == 503


def test_metrics_are_what_prometheus_reads() -> None:
    with Monitor("127.0.0.1", 0, ages=dict, health_timeout=300) as monitor:
        text = httpx.get(f"http://127.0.0.1:{monitor.port}/metrics").text
    names = {family.name for family in text_string_to_metric_families(text)}
    assert {"racebot_build_info", "racebot_settle_seconds", "racebot_message_seconds"} <= names


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("POST", "/metrics"), ("GET", "/../etc/passwd")])
def test_nothing_else_is_there(method: str, path: str) -> None:
    with Monitor("127.0.0.1", 0, ages=dict, health_timeout=300) as monitor:
        assert httpx.request(method, f"http://127.0.0.1:{monitor.port}{path}").status_code == 404


def test_a_connection_that_says_nothing_holds_up_nobody() -> None:
    with (
        Monitor("127.0.0.1", 0, ages=dict, health_timeout=300) as monitor,
        socket.create_connection(("127.0.0.1", monitor.port)),
    ):
        assert httpx.get(f"http://127.0.0.1:{monitor.port}/healthz", timeout=5).status_code == 200


def test_a_port_that_is_taken() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(SettingsError, match=r"RACEBOT_MONITOR_PORT=\d+: cannot listen on 127.0.0.1"),
    ):
        Monitor("127.0.0.1", taken.getsockname()[1], ages=dict, health_timeout=300)
