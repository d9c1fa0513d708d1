"""Prometheus metrics of the running bot."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from racebot import __version__

REGISTRY = CollectorRegistry()

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0)

BUILD = Gauge("racebot_build_info", "The running version, as a label.", ["version"], registry=REGISTRY)
BUILD.labels(__version__).set(1)

LAST_POLL = Gauge(
    "racebot_last_poll_timestamp_seconds",
    "When the category was last seen, in seconds since 1970.",
    ["category"],
    registry=REGISTRY,
)
ROOMS = Gauge("racebot_rooms", "Race rooms being watched.", ["category"], registry=REGISTRY)
PENDING = Gauge(
    "racebot_pending_races", "Finished races that are not recorded yet.", ["category"], registry=REGISTRY
)
OUTBOX = Gauge(
    "racebot_outbox_messages", "Messages waiting to be delivered.", ["category"], registry=REGISTRY
)
TOKEN_AGE = Gauge("racebot_token_age_seconds", "Age of the access token.", ["category"], registry=REGISTRY)
CONNECTIONS = Counter(
    "racebot_room_connections_total", "Connections made to race rooms.", ["category"], registry=REGISTRY
)
RECONNECTS = Counter(
    "racebot_room_reconnects_total",
    "Connections to race rooms that were lost or refused.",
    ["category"],
    registry=REGISTRY,
)
SETTLED = Counter(
    "racebot_races_settled_total", "Recorded races that were rated.", ["category"], registry=REGISTRY
)
MESSAGES = Counter(
    "racebot_messages_total", "Messages by kind and final state.", ["kind", "state"], registry=REGISTRY
)
MESSAGE_SECONDS = Histogram(
    "racebot_message_seconds",
    "Seconds from a final result until its message appears in chat.",
    buckets=_SECONDS,
    registry=REGISTRY,
)
SETTLE_SECONDS = Histogram(
    "racebot_settle_seconds",
    "Seconds to rate a recorded race and store the result.",
    buckets=_SECONDS,
    registry=REGISTRY,
)
COMMANDS = Counter("racebot_commands_total", "Commands answered in chat.", ["command"], registry=REGISTRY)
ERRORS = Counter("racebot_errors_total", "Errors by kind.", ["kind"], registry=REGISTRY)
