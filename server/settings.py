"""Settings of the service, from the environment (``CODEC_SUPERB_SERVER_*``) or the command line.

Every field is documented in ``docs/leaderboard.md``; a test compares.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from difflib import get_close_matches
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from codec_superb.data_manifests.home import codec_superb_home
from codec_superb.web.site.whose import ShownSource

MEGABYTE = 1_000_000
PREFIX = "CODEC_SUPERB_SERVER_"


def _default_storage() -> Path:
    return codec_superb_home() / "server"


class Settings(BaseSettings):
    """What a maintainer may choose; the defaults run on a laptop with nothing configured."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True, use_attribute_docstrings=True)

    database: str | None = None
    """SQLAlchemy URL, ``sqlite:///…`` or ``postgresql+psycopg://…``; None for ``leaderboard.sqlite`` in ``storage``."""
    storage: Path = Field(default_factory=_default_storage)
    """Folder of accepted files, uploads in progress and the generated secret key."""
    vault: str | None = None
    """Object store of accepted files, `s3://BUCKET/FOLDER` (extra `s3`); None for the folder in `storage`."""
    vault_copies: int = Field(default=10_000 * MEGABYTE, ge=0)
    """Bytes of copies of an object store's files that `storage` keeps; fewer where `free_bytes` would not be free."""
    secret_key: str | None = Field(default=None, min_length=32, repr=False)
    """Signs cookies and CSRF tokens; None for one that is generated once and kept in ``storage``."""
    base_url: str = "http://127.0.0.1:8000"
    """Address by which people reach the service, for links in files; ``https`` makes cookies secure."""
    default_source: ShownSource = "verified"
    """What pages show where nobody chose: ``verified``, wherever three codecs were run again, or ``runs``, all."""
    anonymous_uploads: bool = False
    """Accept uploads without a token into the moderation queue."""
    upload_limit: int = Field(default=100 * MEGABYTE, ge=1)
    """Bytes of a submission file."""
    staged_limit: int = Field(default=2_000 * MEGABYTE, ge=0)
    """Bytes of parts that one account may have here that no submission has named yet, which bounds a whole; 0: none."""
    check_seconds: float = Field(default=120.0, gt=0, le=86_400)
    """Time a worker process may take to check one submission before it is killed; each part adds a tenth."""
    check_memory: int = Field(default=2_000 * MEGABYTE, ge=100 * MEGABYTE)
    """Bytes of address space a worker process may use."""
    check_workers: int = Field(default=1, ge=0)
    """Submissions checked at once, and a large one or one in parts; 0 (PostgreSQL) leaves all to `check-worker`."""
    uploads_per_hour: int = Field(default=60, ge=1)
    """Uploads per token, and per address without one; ten seconds of checking count as one more."""
    logins_per_hour: int = Field(default=20, ge=1)
    """Wrong tokens per address and beginning of the token, ten times as many per address; a valid one always passes."""
    computations_per_minute: int = Field(default=120, ge=1)
    """Requests per address that compute (comparison, clip tables, exports), cached answers not counted."""
    verify_accepted: bool = True
    """Have `codec-superb verify-worker` run each submission again that became public without being verified."""
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = ()
    """Addresses whose ``X-Forwarded-For`` is believed (the reverse proxy), e.g. ``127.0.0.1,172.16.0.0/12``."""
    session_hours: float = Field(default=12.0, gt=0, le=8_760)
    """How long a moderator stays logged in."""
    internal_metrics: bool = False
    """Serve ``/metrics-internal`` to anybody; by default only to bearers of the scope ``metrics``."""
    log_format: str = Field(default="json", pattern="^(json|text)$")
    """``json``: a line of JSON per event; ``text``: for reading in a terminal."""
    shutdown_seconds: int = Field(default=30, ge=1)
    """How long running requests, uploads included, may take to finish once the service is told to stop."""
    free_bytes: int = Field(default=1_000 * MEGABYTE, ge=0)
    """Bytes that must be free where ``storage`` lies; with fewer no upload is taken, and ``/readyz`` is 503."""

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, given: str) -> str:
        """Refuse what no link can begin with."""
        parts = urlsplit(given)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/") or parts.query:
            raise ValueError("expected the address of a whole site, such as https://leaderboard.example.org")
        return given

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _split(cls, given: object) -> object:
        """Read a list from the environment: separated by commas, or as JSON."""
        if not isinstance(given, str):
            return given
        if given.lstrip().startswith("["):
            try:
                return tuple(json.loads(given))
            except ValueError as error:
                raise ValueError("expected addresses separated by commas, or a JSON list of texts") from error
        return tuple(part.strip() for part in given.split(",") if part.strip())

    @field_validator("trusted_proxies")
    @classmethod
    def _are_addresses(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        """Refuse what is no address: a name or a mistyped network would silently trust no proxy."""
        for text in given:
            try:
                # the proxy middleware of uvicorn takes anything else for a literal name, which no peer has
                ip_network(text)
            except ValueError as error:
                raise ValueError(f"expected an address or a network such as 172.16.0.0/12: {error}") from error
        return given

    @field_validator("check_workers")
    @classmethod
    def _somebody_checks(cls, given: int, info: ValidationInfo) -> int:
        """Refuse a service whose uploads nobody would ever check: ``database`` is read before."""
        if given == 0 and not _is_shared(info.data.get("database")):
            raise ValueError("expected a number of at least 1 with SQLite")
        return given

    @property
    def shared(self) -> bool:
        """Whether several processes, on other machines too, may be one service on this database."""
        return _is_shared(self.database)

    @property
    def https(self) -> bool:
        """Whether people reach the service by HTTPS."""
        return self.base_url.startswith("https:")

    @property
    def database_url(self) -> str:
        """Return the URL of the database that is used."""
        return self.database or f"sqlite:///{self.storage / 'leaderboard.sqlite'}"

    @property
    def files(self) -> Path:
        """Folder of accepted submissions, by SHA-256."""
        return self.storage / "submissions"

    @property
    def incoming(self) -> Path:
        """Folder of uploads that are being received or checked; on the same file system as ``files``."""
        return self.storage / "incoming"


def _is_shared(database: str | None) -> bool:
    return database is not None and database.startswith("postgresql")


def unknown_variables(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Say of each variable that begins as a setting's and is none which one may be meant: it would be ignored."""
    known = [f"{PREFIX}{name}".upper() for name in Settings.model_fields]
    odd = sorted(name for name in environment if name.upper().startswith(PREFIX) and name.upper() not in known)
    return [f"{name} is no setting; the nearest is {get_close_matches(name.upper(), known, 1, 0)[0]}" for name in odd]


def faults(error: ValidationError) -> list[str]:
    """Say of each invalid setting its variable, what was expected and what came; secrets are not repeated."""
    return [_fault(dict(fault)) for fault in error.errors()]


def _fault(fault: Mapping[str, Any]) -> str:
    name = str(fault["loc"][0]) if fault["loc"] else "the settings"
    limits = fault.get("ctx", {})
    expected = next((f"expected a number {words} {limits[key]}" for key, words in _BOUNDS.items() if key in limits), "")
    text = expected or fault["msg"].removeprefix("Value error, ")
    field = Settings.model_fields.get(name)
    got = "" if field is None or not field.repr or name == "database" else f", got {str(fault['input'])[:80]!r}"
    return f"{PREFIX}{name.upper()}: {text}{got}"


_BOUNDS = {"ge": "of at least", "gt": "above", "le": "of at most"}
