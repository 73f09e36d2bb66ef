"""Brings a database to a revision of the schema; the only way in which a schema is ever made or changed."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config

_FOLDER = Path(__file__).parent / "migrations"


def upgrade(url: str, revision: str = "head") -> None:
    """Upgrade the database at ``url`` (SQLAlchemy's form), making all tables in an empty one."""
    command.upgrade(_config(url), revision)


def downgrade(url: str, revision: str) -> None:
    """Go back to an older schema; data of the newer one's own tables and columns is lost."""
    command.downgrade(_config(url), revision)


def make_revision(url: str, message: str) -> None:
    """Write a migration from the difference between the database at ``url`` and the models: for developers."""
    command.revision(_config(url), message, autogenerate=True)


def _config(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    config.attributes["url"] = url
    return config
