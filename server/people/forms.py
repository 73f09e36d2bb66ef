"""Parse the small URL-encoded forms of moderators, with limits on size and number of fields."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request

from codec_superb.server.errors import BadRequest, TooLarge

LIMIT = 65_536
"""Largest form in bytes."""
_FIELDS = 20
_TYPE = "application/x-www-form-urlencoded"


async def _form(request: Request) -> dict[str, str]:
    """Return the fields by name, the last one of repeated names. Raises TooLarge, or BadRequest for another body."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _TYPE:
        raise BadRequest(f"expected a form ({_TYPE}), got {kind[:80] or 'no content type'}")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LIMIT:
            raise TooLarge(f"expected a form of at most {LIMIT} bytes, got more")
    try:
        # max_num_fields: a body of 64 kB could name tens of thousands
        fields = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_FIELDS))
    except ValueError as error:
        raise BadRequest(f"expected a form of at most {_FIELDS} fields in UTF-8: {error}") from error
    if any("\0" in text for field in fields.items() for text in field):
        raise BadRequest("expected text without the character 0, which PostgreSQL takes in no query, got one")
    return fields


Form = Annotated[dict[str, str], Depends(_form)]
"""The fields of a form."""
