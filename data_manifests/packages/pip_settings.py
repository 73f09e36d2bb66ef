"""Read pip's configuration on this machine: package indexes, certificates, proxy, time-outs.

The precedence is pip's (its user guide, "Configuration"): ``PIP_*`` variables, then configuration files
(``PIP_CONFIG_FILE``, the environment's own, user, system), in them ``[download]`` before ``[global]``. pip itself need
not be installed.
"""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from codec_superb.data_manifests.errors import DatasetError

_SECTIONS = ("global", "download")
# pip's own, of --timeout and --retries
_DEFAULT_TIMEOUT = 15.0
_DEFAULT_RETRIES = 5


@dataclass(frozen=True, slots=True)
class PipSettings:
    """The settings that a download needs."""

    indexes: tuple[str | None, ...]
    """Addresses in the order in which they are searched; None is the public index."""
    find_links: tuple[Path, ...] = ()
    """Local folders that may hold package files."""
    cert: str | None = None
    """File of CA certificates; None leaves the choice to ``requests`` and its variables."""
    client_cert: str | None = None
    proxy: str | None = None
    trusted_hosts: tuple[str, ...] = ()
    """Hosts, or hosts with a port, whose certificates are not checked."""
    timeout: float = _DEFAULT_TIMEOUT
    """Seconds."""
    retries: int = _DEFAULT_RETRIES


def read_pip_settings(environ: Mapping[str, str] = os.environ) -> PipSettings:
    """Return pip's settings. Raises DatasetError when a configuration file or a number cannot be read."""
    values = _from_files(environ)
    values |= {
        name.removeprefix("PIP_").lower().replace("_", "-"): value
        for name, value in environ.items()
        if name.startswith("PIP_") and value
    }
    no_index = values.get("no-index", "").lower() in {"1", "true", "yes", "on"}
    indexes = (values.get("index-url") or None, *values.get("extra-index-url", "").split())
    return PipSettings(
        indexes=() if no_index else indexes,
        find_links=tuple(path for link in values.get("find-links", "").split() if (path := local_path(link))),
        cert=_expand(values.get("cert")),
        client_cert=_expand(values.get("client-cert")),
        proxy=values.get("proxy") or None,
        trusted_hosts=tuple(values.get("trusted-host", "").split()),
        timeout=_number(values, ("timeout", "default-timeout"), _DEFAULT_TIMEOUT),
        retries=int(_number(values, ("retries",), _DEFAULT_RETRIES)),
    )


def local_path(link: str) -> Path | None:
    """Return the path that a ``file:`` address or a plain path names; None for an address on a network."""
    parts = urlsplit(link)
    if parts.scheme == "file":
        return Path(url2pathname(parts.path))
    return None if parts.scheme in {"http", "https"} else Path(link).expanduser()


def _from_files(environ: Mapping[str, str]) -> dict[str, str]:
    values: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for path in _config_files(environ):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            raise DatasetError(f"cannot read pip's configuration {path}: {error}") from error
        for section in _SECTIONS:
            if parser.has_section(section):
                values[section] |= {key.replace("_", "-"): value for key, value in parser.items(section) if value}
    return values["global"] | values["download"]


def _config_files(environ: Mapping[str, str]) -> list[Path]:
    own = environ.get("PIP_CONFIG_FILE")
    if own == os.devnull:  # pip's documented way to ignore all configuration files
        return []
    home = Path(environ.get("HOME") or Path.home())
    shared = [Path(folder) for folder in (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")]
    files = [folder / "pip" / "pip.conf" for folder in shared]
    files += [Path("/etc/pip.conf"), home / ".pip" / "pip.conf"]
    files += [Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf"]
    files += [Path(sys.prefix) / "pip.conf"]
    return [*files, Path(own)] if own else files


def _expand(path: str | None) -> str | None:
    return str(Path(path).expanduser()) if path else None


def _number(values: Mapping[str, str], names: tuple[str, ...], default: float) -> float:
    for name in names:
        if name in values:
            try:
                return float(values[name])
            except ValueError as error:
                raise DatasetError(f"pip's setting {name} is no number: {values[name]!r}") from error
    return default
