"""Discord's webhooks as far as bots use them, with its answers, limits and errors.

Sources: https://docs.discord.com/developers/resources/webhook and https://docs.discord.com/developers/reference
"""

import time
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from racebot.sandbox.site import FakeSite

MOST_IN_EMBEDS = 6000


class _Embed(BaseModel):
    title: str = Field("", max_length=256)
    description: str = Field("", max_length=4096)


def _bounded(embeds: list[_Embed]) -> list[_Embed]:
    if sum(len(each.title) + len(each.description) for each in embeds) > MOST_IN_EMBEDS:
        raise ValueError(f"Embed size exceeds maximum size of {MOST_IN_EMBEDS}")
    return embeds


class _Message(BaseModel):
    content: str = Field("", max_length=2000)
    embeds: Annotated[list[_Embed], Field(max_length=10), AfterValidator(_bounded)] = []


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
        if webhook in site.deleted_webhooks:
            return JSONResponse({"message": "Unknown Webhook", "code": 10015}, 404)
        if number and site.discord.get(number, {}).get("webhook_id") != webhook:
            return JSONResponse({"message": "Unknown Message", "code": 10008}, 404)
        if request.method == "GET":
            return JSONResponse({"type": 1, "id": webhook, "name": "Results"})
        body = await request.json()
        try:
            _Message.model_validate(body)
        except ValidationError as error:
            errors = {".".join(map(str, each["loc"])): each["msg"] for each in error.errors()}
            return JSONResponse({"message": "Invalid Form Body", "code": 50035, "errors": errors}, 400)
        if not (body.get("content") or body.get("embeds")):
            return JSONResponse({"message": "Cannot send an empty message", "code": 50006}, 400)
        site.posts += not number
        new = {"id": number or f"{10**17 + site.posts}", "webhook_id": webhook}
        site.discord[new["id"]] = {**site.discord.get(number, {}), **new, **body}
        is_shown = number or request.query_params.get("wait") == "true"
        return JSONResponse(site.discord[new["id"]]) if is_shown else Response("", 204)

    webhook = "/api/webhooks/{webhook:int}/{token}"
    return [
        Route(webhook, answer, methods=["GET", "POST"]),
        Route(webhook + "/messages/{message}", answer, methods=["PATCH"]),
    ]
