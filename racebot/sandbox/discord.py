"""Discord's webhooks as far as bots use them, with its answers, limits and errors.

Sources: https://docs.discord.com/developers/resources/webhook and https://docs.discord.com/developers/reference
"""

from __future__ import annotations

import time
from math import inf
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

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
COUNTED = ("title", "description", "name", "text", "value")
REQUIRED = {"embeds.fields.name", "embeds.fields.value"}
MENTIONS = ("roles", "users", "everyone")


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
        elif errors := _errors(body):
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
    ]


def _errors(value: Any, kind: str = "") -> dict[str, Any]:
    """Return what Discord would refuse in a body, nested like it: by names and indices."""
    own, within = dict[str, str](), dict[str, Any]()
    if isinstance(value, str | list) and len(value) > (most := MOST.get(kind, inf)):
        own["BASE_TYPE_MAX_LENGTH"] = f"Must be {most} or fewer in length."
    if kind == "embeds" and isinstance(value, list) and sum(map(_characters, value)) > MOST_IN_EMBEDS:
        own["MAX_EMBED_SIZE_EXCEEDED"] = f"Embed size exceeds maximum size of {MOST_IN_EMBEDS}"
    if kind == "allowed_mentions" and not isinstance(value, dict):
        own["MODEL_TYPE_CONVERT"] = "Only dictionaries may be used in a ModelType"
    if kind == "allowed_mentions.parse" and isinstance(value, str) and value not in MENTIONS:
        own["BASE_TYPE_CHOICES"] = f"Value must be one of {MENTIONS}."
    if kind in REQUIRED and not value:
        own["BASE_TYPE_REQUIRED"] = "This field is required"
    if kind == "embeds.fields" and isinstance(value, dict):
        value = {"name": "", "value": "", **value}
    if isinstance(value, dict):
        within = {name: _errors(inner, f"{kind}.{name}".strip(".")) for name, inner in value.items()}
    elif isinstance(value, list):
        within = {str(number): _errors(inner, kind) for number, inner in enumerate(value)}
    found = {name: errors for name, errors in within.items() if errors}
    refused = [{"code": code, "message": text} for code, text in own.items()]
    return found | ({"_errors": refused} if refused else {})


def _characters(embed: dict[str, Any]) -> int:
    parts = [embed, embed.get("author", {}), embed.get("footer", {}), *embed.get("fields", [])]
    return sum(len(part.get(name, "")) for part in parts for name in COUNTED)
