"""Prometheus metrics of the running bot, and the local server for them and for `/healthz`."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import partial
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, make_wsgi_app

from racebot import __version__
from racebot.errors import reason

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

log = logging.getLogger(__name__)

REGISTRY = CollectorRegistry()

_category_gauge = partial(Gauge, labelnames=["category"], registry=REGISTRY)
_category_counter = partial(Counter, labelnames=["category"], registry=REGISTRY)
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0)
_seconds = partial(Histogram, buckets=_BUCKETS, registry=REGISTRY)

BUILD = Gauge("racebot_build_info", "The running version, as a label.", ["version"], registry=REGISTRY)
BUILD.labels(__version__).set(1)
LAST_POLL = _category_gauge(
    "racebot_last_poll_timestamp_seconds", "When the category was last seen, in seconds since 1970."
)
ROOMS = _category_gauge("racebot_rooms", "Race rooms being watched.")
PENDING = _category_gauge("racebot_pending_races", "Finished races that do not count yet.")
OUTBOX = _category_gauge("racebot_outbox_messages", "Messages waiting to be delivered.")
CONNECTIONS = _category_counter("racebot_room_connections_total", "Connections made to race rooms.")
RECONNECTS = _category_counter(
    "racebot_room_reconnects_total", "Connections to race rooms that were lost or refused."
)
SETTLED = _category_counter("racebot_races_settled_total", "Recorded races that were rated.")
MESSAGES = Counter(
    "racebot_messages_total", "Messages by kind and final state.", ["kind", "state"], registry=REGISTRY
)
MESSAGE_SECONDS = _seconds("racebot_message_seconds", "Seconds from a final result to its message in chat.")
SETTLE_SECONDS = _seconds("racebot_settle_seconds", "Seconds to rate a recorded race and store the result.")
COMMANDS = Counter("racebot_commands_total", "Commands answered in chat.", ["command"], registry=REGISTRY)
ERRORS = Counter("racebot_errors_total", "Errors by kind.", ["kind"], registry=REGISTRY)


@contextmanager
def monitor(
    host: str, port: int | None, *, ages: Callable[[], dict[str, float | None]], health_timeout: float
) -> Generator[int | None]:
    """Serve `/healthz` and `/metrics` inside a `with` block, and yield the port; None if it is not available.

    Args:
        port: 0 chooses a free one; None serves nothing.
        ages: returns the seconds since each category was last seen, None if it has not been seen yet. Called
            from another thread.
        health_timeout: seconds after which a category that was not seen makes the bot unhealthy.
    """
    if port is None:
        yield None
        return
    metrics = make_wsgi_app(REGISTRY)

    def answer(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        match environ["REQUEST_METHOD"], environ["PATH_INFO"]:
            case (("GET" | "HEAD"), "/metrics"):
                body: Iterable[bytes] = metrics(environ, start)
                return body
            case (("GET" | "HEAD"), "/healthz"):
                seen = ages()
                well = all(age is not None and age <= health_timeout for age in seen.values())
                status = "200 OK" if well else "503 Service Unavailable"
                rounded = {slug: None if age is None else round(age, 1) for slug, age in seen.items()}
                document = {"status": "well" if well else "not well", "seconds_since_seen": rounded}
            case _:
                status, document = "404 Not Found", {"status": "not found: try /healthz or /metrics"}
        text = json.dumps(document).encode()
        start(status, [("Content-Type", "application/json"), ("Content-Length", str(len(text)))])
        return [text]

    try:
        server = make_server(host, port, answer, _QuietServer, _QuietHandler)
    except (OSError, OverflowError) as error:
        cause = f"RACEBOT_MONITOR_PORT={port}: cannot listen on {host} ({reason(error)})"
        log.error("%s: choose another port, and restart", cause)
        yield None
        return
    threading.Thread(target=server.serve_forever, name="monitor", daemon=True).start()
    log.info("/healthz and /metrics on port %d", server.server_port)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


class _QuietServer(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        log.debug("a request to the monitor broke off", exc_info=True)


class _QuietHandler(WSGIRequestHandler):
    timeout = 10

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        log.debug(format, *args)
