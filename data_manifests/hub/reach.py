"""Ask a server once whether it gives a file, before a client asks that repeats itself.

The hub's own client asks an unreachable hub five times and prints a line for each. One question with a short limit
tells the same in one sentence, also where that client is not installed.
"""

from __future__ import annotations

import os
import re
import time
from http import HTTPStatus
from pathlib import Path
from urllib import parse

PATIENCE_S = 5.0
_SILENCE_S = 30.0
# the hub: 401 without a login, 403 with the login of somebody who may not have the file
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_silent: dict[str, tuple[float, str]] = {}
"""Servers that did not answer, and when: of ten codecs only the first waits."""


def endpoint() -> str:
    """Return the address of the hub: ``HF_ENDPOINT``, or the public one."""
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def is_part(revision: str | None) -> bool:
    """Whether a revision is the first digits of a commit id, which the hub does not take."""
    return re.fullmatch("[0-9a-f]{7,39}", revision or "") is not None


def hub_address(repository: str, file: str, revision: str | None = None) -> str:
    """Return the address of a file of a repository; for the first digits of a commit, that of the newest commit."""
    at = "main" if revision is None or is_part(revision) else parse.quote(revision, safe="")
    return f"{endpoint()}/{parse.quote(repository)}/resolve/{at}/{parse.quote(file)}"


def hub_home() -> Path:
    """Return the folder of the hub's client (``HF_HOME``), where its cache and the login are by default."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.environ.get("HF_HOME") or f"{cache}/huggingface").expanduser()


def gated(repository: str) -> str:
    """Say what to do about a repository whose licence has to be accepted."""
    return (
        f"the hub gives it to those who accepted its licence: accept it at {endpoint()}/{repository}, then log in with "
        "`hf auth login`, or set HF_TOKEN"
    )


def refusal(address: str, repository: str = "") -> str:
    """Return why the server does not give ``address``, a file of ``repository`` where it is the hub's.

    '' where it does, or where only a client can tell (a busy server, certificates that Python does not know).
    """
    import requests  # a tenth of a second

    host = parse.urlsplit(address).netloc
    since, told = _silent.get(host, (0.0, ""))
    if told and time.monotonic() - since < _SILENCE_S:
        return told
    try:
        # a redirection is an answer: the file is there
        answer = requests.head(address, headers=_login() if repository else {}, timeout=PATIENCE_S)
    except requests.exceptions.SSLError:
        return ""
    except (requests.exceptions.RequestException, ValueError) as error:
        told = f"{host} cannot be reached ({_reason(error)})"
        _silent[host] = time.monotonic(), told
        return told
    return _meaning(answer.status_code, answer.headers.get("X-Error-Code", ""), repository, host)


def _reason(error: Exception) -> str:
    """Return the innermost cause in a few words; requests and urllib3 wrap it several times."""
    inner: BaseException = error
    while (below := inner.__cause__ or inner.__context__) is not None:
        inner = below
    return getattr(inner, "strerror", None) or type(inner).__name__


def _meaning(status: int, code: str, repository: str, host: str) -> str:
    """Return what an answer with this status and the hub's own code means."""
    if status in _REFUSED and code == "GatedRepo":
        return gated(repository)
    if repository and (status == HTTPStatus.UNAUTHORIZED or code == "RepoNotFound"):
        return f"{host} knows no repository {repository}, or does not show it without a login (`hf auth login`)"
    if status == HTTPStatus.NOT_FOUND:
        return f"{host} has no such {'revision' if code == 'RevisionNotFound' else 'file'}"
    return f"{host} refuses it (HTTP {status})" if status in _REFUSED else ""


def _login() -> dict[str, str]:
    """Return the header of the user's token, where there is one."""
    token = os.environ.get("HF_TOKEN", "")
    file = Path(os.environ.get("HF_TOKEN_PATH") or hub_home() / "token").expanduser()
    if not token and file.is_file():
        token = file.read_text(encoding="utf-8").strip()
    return {"Authorization": f"Bearer {token}"} if token else {}
