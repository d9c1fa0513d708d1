import socket
from collections.abc import Iterator

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from worker_support import PATIENCE

from racebot.telemetry.metrics import monitor


@pytest.fixture
def ages() -> dict[str, float | None]:
    """The seconds since each category was seen."""
    return {"orb": 3.04, "cube": None}


@pytest.fixture
def client(ages: dict[str, float | None]) -> Iterator[httpx.Client]:
    with (
        monitor("127.0.0.1", 0, ages=lambda: ages, health_timeout=300) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as client,
    ):
        yield client


def test_bot_is_healthy_while_every_category_was_seen_recently(
    client: httpx.Client, ages: dict[str, float | None]
) -> None:
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json() == {"status": "not well", "seconds_since_seen": {"orb": 3.0, "cube": None}}
    ages["cube"] = 299.0
    assert client.get("/healthz").status_code == 200
    ages["orb"] = 301.0
    assert client.get("/healthz").status_code == 503


def test_metrics_have_the_prometheus_format(client: httpx.Client) -> None:
    names = {family.name for family in text_string_to_metric_families(client.get("/metrics").text)}
    assert {"racebot_build_info", "racebot_settle_seconds", "racebot_message_seconds"} <= names


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("POST", "/metrics"), ("GET", "/../etc/passwd")])
def test_other_paths_are_not_found(client: httpx.Client, method: str, path: str) -> None:
    assert client.request(method, path).status_code == 404


def test_silent_connection_blocks_no_other(client: httpx.Client, ages: dict[str, float | None]) -> None:
    ages.clear()
    with socket.create_connection(("127.0.0.1", client.base_url.port or 0)):
        assert client.get("/healthz").status_code == 200
