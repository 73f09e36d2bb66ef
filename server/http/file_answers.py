"""Cacheable answers: ETag, 304 Not Modified (RFC 9110, section 13), and byte ranges of sounds (section 14)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from http import HTTPStatus

from fastapi import Request
from fastapi.responses import Response

from codec_superb.server.database.models import PUBLIC, Submission

_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")


def cache_control_of(submission: Submission) -> str:
    """Return Cache-Control for fixed content of a submission: immutable if public, else not stored (RFC 8246)."""
    public = submission.status in PUBLIC
    return "public, max-age=31536000, immutable" if public else "private, no-store"


def answer(request: Request, content: bytes, media_type: str, cache_control: str) -> Response:
    """Answer with content, or with 304 where the request names its ETag."""
    tag = f'"{sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": cache_control, "X-Content-Type-Options": "nosniff"}
    if tag in re.findall(r'"[^"]*"', request.headers.get("if-none-match", "")):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


def sound_answer(request: Request, content: bytes, cache_control: str) -> Response:
    """Answer with a sound, or with the single byte range of the header ``Range``."""
    whole = answer(request, content, "audio/ogg", cache_control)
    if whole.status_code == HTTPStatus.NOT_MODIFIED:
        whole.headers["Accept-Ranges"] = "bytes"
        return whole
    tag = whole.headers["etag"]
    # If-Range: parts of a sound that has changed since must not be put together
    wanted = request.headers.get("range", "") if request.headers.get("if-range", tag) == tag else ""
    return sound_in_parts(content, wanted, {"ETag": tag, "Cache-Control": cache_control})


def sound_in_parts(content: bytes, wanted: str, headers: Mapping[str, str], media_type: str = "audio/ogg") -> Response:
    """Answer with a sound, or with the byte range ``wanted``, a header ``Range`` (RFC 9110, section 14.2).

    Several ranges, another unit and invalid ranges get the whole sound; a range beyond the end gets 416 with the
    length.
    """
    own = {**headers, "Accept-Ranges": "bytes", "X-Content-Type-Options": "nosniff"}
    asked = _RANGE.fullmatch(wanted.strip())
    # RFC 9110, 14.2: a Range that is not understood is ignored, and the whole is sent
    if asked is None or not any(asked.groups()) or (asked[1] and asked[2] and int(asked[1]) > int(asked[2])):
        return Response(content, media_type=media_type, headers=own)
    span = _span(asked[1], asked[2], len(content))
    if span is None:
        # RFC 9110, 15.5.17: with the length, so that the client can ask again
        return Response(status_code=416, headers=own | {"Content-Range": f"bytes */{len(content)}"})
    first, last = span
    own |= {"Content-Range": f"bytes {first}-{last}/{len(content)}"}
    return Response(content[first : last + 1], 206, own, media_type)


def _span(first: str, last: str, length: int) -> tuple[int, int] | None:
    """Return the first and the last byte of a range; None where it is not satisfiable."""
    if not first:
        # bytes=-500 means the last 500
        return (max(0, length - int(last)), length - 1) if last and int(last) and length else None
    start, end = int(first), min(int(last), length - 1) if last else length - 1
    return (start, end) if start <= end else None
