"""The keys that a leaderboard believes, from its own address."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from codec_superb import strict_json
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.verification.keys import KEYS_PATH

_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class BoardKey:
    """One of them."""

    name: str
    public_key: str


def board_key(server: str, fingerprint: str) -> BoardKey:
    """Return the key of a fingerprint. Raises PipelineError where the board is away, does not know it or revoked it."""
    import requests

    from codec_superb.cli.uploading import innermost, read_answer

    if urlsplit(server).scheme not in ("http", "https"):
        raise PipelineError(f"expected the address of a leaderboard, such as https://example.org, got {server!r}")
    address = server.rstrip("/") + KEYS_PATH
    try:
        # without an auth argument requests sends credentials from ~/.netrc
        answer = requests.get(address, timeout=_SECONDS, stream=True, auth=lambda request: request)
        answer.raise_for_status()
        data = strict_json.loads(read_answer(answer))
        found = {str(entry["fingerprint"]): entry for entry in data["keys"]}.get(fingerprint)
        if found is not None:
            revoked, key = found["revoked"], BoardKey(str(found["name"]), str(found["public_key"]))
    except (requests.RequestException, OSError) as error:
        raise PipelineError(f"{address}: the keys cannot be fetched: {innermost(error)}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise PipelineError(f"{address}: expected the keys of a leaderboard, got something else ({error})") from error
    if found is None:
        raise PipelineError(
            f"{server} knows no key {fingerprint[:16]}…: the attestation is not signed by its maintainers"
        )
    if revoked:
        raise PipelineError(f"{server} has revoked the key {fingerprint[:16]}… of {key.name} on {str(revoked)[:10]}")
    return key
