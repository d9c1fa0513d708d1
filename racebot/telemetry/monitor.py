"""Serves `/healthz` and `/metrics` of the running bot on a local port."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from types import TracebackType
from typing import TYPE_CHECKING, Self
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import make_wsgi_app

from racebot.errors import SettingsError
from racebot.telemetry.metrics import REGISTRY

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

log = logging.getLogger(__name__)

Ages = Callable[[], dict[str, float | None]]
"""Returns the seconds since each category was last seen, None if it has not been seen yet."""


class Monitor:
    """HTTP server for supervisors, which runs inside its `with` block.

    Args:
        host: address to listen on.
        port: port to listen on; 0 chooses a free one.
        ages: called on each request, from another thread.
        health_timeout: seconds after which a category that was not seen makes the bot unhealthy.

    Raises:
        SettingsError: the port is not available.
    """

    def __init__(self, host: str, port: int, *, ages: Ages, health_timeout: float) -> None:
        self._ages = ages
        self._health_timeout = health_timeout
        self._metrics = make_wsgi_app(REGISTRY)
        try:
            self._server = make_server(host, port, self._answer, _QuietServer, _QuietHandler)
        except (OSError, OverflowError) as error:
            raise SettingsError(
                f"RACEBOT_MONITOR_PORT={port}: cannot listen on {host} ({error}): choose another port"
            ) from None

    @property
    def port(self) -> int:
        return self._server.server_port

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, name="monitor", daemon=True).start()
        log.info("/healthz and /metrics on port %d", self.port)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        match environ["REQUEST_METHOD"], environ["PATH_INFO"]:
            case (("GET" | "HEAD"), "/metrics"):
                body: Iterable[bytes] = self._metrics(environ, start)
                return body
            case (("GET" | "HEAD"), "/healthz"):
                ages = self._ages()
                well = all(age is not None and age <= self._health_timeout for age in ages.values())
                status = "200 OK" if well else "503 Service Unavailable"
                seen = {slug: None if age is None else round(age, 1) for slug, age in ages.items()}
                document = {"status": "well" if well else "not well", "seconds_since_seen": seen}
            case _:
                status, document = "404 Not Found", {"status": "not found: try /healthz or /metrics"}
        text = json.dumps(document).encode()
        start(status, [("Content-Type", "application/json"), ("Content-Length", str(len(text)))])
        return [text]


class _QuietServer(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        log.debug("a request to the monitor broke off", exc_info=True)


class _QuietHandler(WSGIRequestHandler):
    timeout = 10

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        log.debug(format, *args)
