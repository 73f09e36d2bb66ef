"""Settings of the service, from the environment (``CODEC_SUPERB_SERVER_*``) or the command line.

Every field is documented in ``docs/leaderboard.md``; a test compares.
"""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from codec_superb.data_manifests.home import codec_superb_home

MEGABYTE = 1_000_000


def _default_storage() -> Path:
    return codec_superb_home() / "server"


class Settings(BaseSettings):
    """What a maintainer may choose; the defaults run on a laptop with nothing configured."""

    model_config = SettingsConfigDict(
        env_prefix="CODEC_SUPERB_SERVER_", extra="forbid", frozen=True, use_attribute_docstrings=True
    )

    database: str | None = None
    """SQLAlchemy URL, ``sqlite:///…`` or ``postgresql+psycopg://…``; None for ``leaderboard.sqlite`` in ``storage``."""
    storage: Path = Field(default_factory=_default_storage)
    """Folder of accepted files, uploads in progress and the generated secret key."""
    secret_key: str | None = Field(default=None, min_length=32, repr=False)
    """Signs cookies and CSRF tokens; None for one that is generated once and kept in ``storage``."""
    base_url: str = "http://127.0.0.1:8000"
    """Address by which people reach the service, for links in files; ``https`` makes cookies secure."""
    anonymous_uploads: bool = False
    """Accept uploads without a token into the moderation queue."""
    upload_limit: int = 100 * MEGABYTE
    """Bytes of a submission file."""
    check_seconds: float = 120.0
    """Time a worker process may take to check one submission before it is killed."""
    check_memory: int = 2_000 * MEGABYTE
    """Bytes of address space a worker process may use."""
    check_workers: int = 1
    """Submissions checked at the same time."""
    uploads_per_hour: int = 60
    """Uploads per token, and per address without one."""
    logins_per_hour: int = 20
    """Login attempts per address."""
    computations_per_minute: int = 120
    """Requests per address that compute (comparison, clip tables, exports), cached answers not counted."""
    verify_accepted: bool = False
    """Have `codec-superb verify-worker` run each submission again that became public without being verified."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses whose ``X-Forwarded-For`` is believed (the reverse proxy), e.g. ``["172.16.0.0/12"]``."""
    session_hours: float = 12.0
    """How long a moderator stays logged in."""
    internal_metrics: bool = False
    """Serve ``/metrics-internal`` to anybody; by default only to bearers of the scope ``metrics``."""
    log_format: str = Field(default="json", pattern="^(json|text)$")
    """``json``: a line of JSON per event; ``text``: for reading in a terminal."""
    shutdown_seconds: int = Field(default=30, ge=1)
    """How long running requests, uploads included, may take to finish once the service is told to stop."""
    free_bytes: int = 1_000 * MEGABYTE
    """Bytes that must be free where ``storage`` lies; with fewer ``/readyz`` says that the service is not ready."""

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
