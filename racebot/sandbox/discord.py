"""Discord's webhooks as far as bots use them, with its answers, limits and errors.

Sources: https://docs.discord.com/developers/resources/webhook and https://docs.discord.com/developers/reference
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from math import inf
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from racebot.sandbox import page
from racebot.sandbox.site import FakeSite

MOST = {
    "content": 2000,
    "embeds": 10,
    "embeds.title": 256,
    "embeds.description": 4096,
    "embeds.author.name": 256,
    "embeds.footer.text": 2048,
    "embeds.fields": 25,
    "embeds.fields.name": 256,
    "embeds.fields.value": 1024,
}
"""The largest lengths, by path without indices."""
MOST_IN_EMBEDS = 6000
MENTIONS = ("roles", "users", "everyone")

Problem = tuple[tuple[str, ...], str, str]
"""Where it is, its code, and its text."""


def routes(site: FakeSite) -> list[Route]:
    """Return the endpoints of webhooks. Every id is one, unless it is among the site's deleted ones."""

    async def answer(request: Request) -> Response:
        webhook, (most, span), now = str(request.path_params["webhook"]), site.webhook_rate, time.monotonic()
        recent = [at for at in site.webhook_uses.get(webhook, []) if now - at < span]
        reset = round((recent[0] if recent else now) + span - now + 0.001, 3)
        if len(recent) >= most:
            text = "You are being rate limited."
            return JSONResponse({"message": text, "retry_after": reset, "global": False}, 429)
        site.webhook_uses[webhook] = [*recent, now]
        found = await carry_out(request, webhook)
        found.headers["X-RateLimit-Limit"] = str(most)
        found.headers["X-RateLimit-Remaining"] = str(most - len(recent) - 1)
        found.headers["X-RateLimit-Reset-After"] = str(reset)
        return found

    async def carry_out(request: Request, webhook: str) -> Response:
        number = request.path_params.get("message", "")
        body = await request.json() if request.method in {"POST", "PATCH"} else {}
        if webhook in site.deleted_webhooks:
            return JSONResponse({"message": "Unknown Webhook", "code": 10015}, 404)
        if number and site.discord.get(number, {}).get("webhook_id") != webhook:
            return JSONResponse({"message": "Unknown Message", "code": 10008}, 404)
        if request.method == "GET":
            return JSONResponse({"type": 1, "id": webhook, "name": "Results"})
        if request.method == "DELETE":
            del site.discord[number]
        elif problems := list(_problems(body)):
            errors = _nested(problems)
            return JSONResponse({"message": "Invalid Form Body", "code": 50035, "errors": errors}, 400)
        elif not (body.get("content") or body.get("embeds")):
            return JSONResponse({"message": "Cannot send an empty message", "code": 50006}, 400)
        else:
            site.posts += not number
            new = {"id": number or f"{10**17 + site.posts}", "webhook_id": webhook}
            site.discord[new["id"]] = {**site.discord.get(number, {}), **new, **body}
            if number or request.query_params.get("wait") == "true":
                return JSONResponse(site.discord[new["id"]])
        return Response("", 204)

    webhook = "/api/webhooks/{webhook:int}/{token}"
    return [
        Route(webhook, answer, methods=["GET", "POST"]),
        Route(webhook + "/messages/{message}", answer, methods=["PATCH", "DELETE"]),
        Route("/discord", lambda _: HTMLResponse(page.discord(site))),
    ]


def _problems(body: dict[str, Any]) -> Iterator[Problem]:
    """Yield what exceeds Discord's limits, or has another shape than it documents."""
    total = 0
    for path, value in _nodes(body):
        kind = ".".join(name for name in path if not name.isdigit())
        if isinstance(value, str | list) and len(value) > (most := MOST.get(kind, inf)):
            yield path, "BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length."
        total += len(value) if isinstance(value, str) and kind in MOST and kind != "content" else 0
        if kind == "embeds.fields" and isinstance(value, dict):
            for name in {"name", "value"} - {key for key, text in value.items() if text}:
                yield (*path, name), "BASE_TYPE_REQUIRED", "This field is required"
        if kind == "allowed_mentions.parse" and isinstance(value, str) and value not in MENTIONS:
            yield path, "BASE_TYPE_CHOICES", f"Value must be one of {MENTIONS}."
    if total > MOST_IN_EMBEDS:
        text = f"Embed size exceeds maximum size of {MOST_IN_EMBEDS}"
        yield ("embeds",), "MAX_EMBED_SIZE_EXCEEDED", text
    if not isinstance(body.get("allowed_mentions") or {}, dict):
        text = "Only dictionaries may be used in a ModelType"
        yield ("allowed_mentions",), "MODEL_TYPE_CONVERT", text


def _nodes(value: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield a value and all values in it, with their paths."""
    yield path, value
    if isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _nodes(inner, *path, str(name))


def _nested(problems: list[Problem]) -> dict[str, Any]:
    """Return problems as Discord nests them: by the names and indices of their path."""
    errors: dict[str, Any] = {}
    for path, code, text in problems:
        at = errors
        for name in path:
            at = at.setdefault(name, {})
        at.setdefault("_errors", []).append({"code": code, "message": text})
    return errors
