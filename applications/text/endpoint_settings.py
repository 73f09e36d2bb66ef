"""Configuration of a model behind an address on the network: a YAML file that names it, its form and its key.

``endpoint:NAME`` reads ``<home>/endpoints/NAME.yaml``, ``--weights DIR`` looks for ``DIR/NAME.yaml``, and
``endpoint:path/to/file.yaml`` is that file. The key stands in an environment variable, never in the file, in a
result or in a message.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from codec_superb.applications.errors import MissingModel
from codec_superb.applications.interface import TextRole
from codec_superb.data_manifests.home import codec_superb_home

SUFFIXES = (".yaml", ".yml")
_KEY = re.compile(r"[!-~]+")
Api = Literal["openai", "gemini", "vertex"]


Settings = TypeVar("Settings", bound=BaseModel)


def plain_address(url: str) -> str:
    """Return an address without its last slash. Raises ValueError for one that is none, or that holds a secret."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("expected an address that begins with https:// or http://")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("expected an address without user, password, ? and #: the key belongs into key_variable")
    return url.rstrip("/")


def key_in(variable: str, model: str) -> str:
    """Return the key of a model, '' where none is asked for.

    Raises MissingModel where the variable is not set, or holds what no header can carry.
    """
    if not variable:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise MissingModel(f"{model}: set the environment variable {variable} to its key")
    if not _KEY.fullmatch(key):
        raise MissingModel(
            f"{model}: expected a key of visible ASCII characters in {variable}, got a space, a line break or another "
            "character in it; copy the key again"
        )
    return key


class Connection(BaseModel):
    """What a sender of requests must know of a model behind an address; it changes no answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    if TYPE_CHECKING:  # they stand in the kinds of configuration, because the order of fields is in a model's identity
        url: str
        model: str

    key_variable: str = ""
    """Environment variable that holds the key; '' for a server that asks for none."""
    timeout_s: float = Field(default=120.0, gt=0)
    """Seconds for a whole answer."""
    retries: int = Field(default=6, ge=0, le=20)
    """Tries after a failure."""
    backoff_s: float = Field(default=1.0, ge=0, le=60)
    """Seconds before the first of them, doubled with each, 60 at most, plus or minus a random half."""

    @field_validator("url", check_fields=False)
    @classmethod
    def _plain(cls, url: str) -> str:
        return plain_address(url)

    @property
    def gemini(self) -> bool:
        """Whether the key is sent in Gemini's header."""
        return False

    @property
    def rates(self) -> tuple[int | None, int | None]:
        """Requests and tokens of a minute at most."""
        return None, None

    def key(self) -> str:
        """Return the key, '' where none is asked for. Raises MissingModel where the variable is not set."""
        return key_in(self.key_variable, self.model)


class EndpointSettings(Connection):
    """The file, checked."""

    api: Api = "openai"
    """Form of requests: OpenAI's, which many servers take; Gemini's ``batchEmbedContents``; Vertex AI's ``predict``."""
    url: str
    """Address of the model's method, without a key."""
    model: str = Field(min_length=1, max_length=200)
    dimensions: int | None = Field(default=None, ge=1, le=65_536)
    """Numbers of a vector. What comes with others is refused."""
    batch: int = Field(default=32, ge=1, le=2048)
    """Texts of a request."""
    max_characters: int = Field(default=24_000, ge=16)
    """A longer text is divided; 24,000 characters are at most some 8,000 tokens of most languages."""
    prompts: dict[TextRole, str] = {}
    """By what a text is, with ``{text}`` in it, of documents ``{title}`` too; a text alone where there is none."""
    clean_documents: bool = False
    """Whether documents are put in lower case, without marks of footnotes such as ``[12]``."""
    unit_length: bool = False
    """Whether vectors are brought to length 1."""

    @property
    def gemini(self) -> bool:
        """Whether the key is sent in Gemini's header."""
        return self.api == "gemini"

    @field_validator("prompts")
    @classmethod
    def _with_text(cls, prompts: dict[TextRole, str]) -> dict[TextRole, str]:
        for role, prompt in prompts.items():
            if prompt.count("{text}") != 1:
                raise ValueError(f"the prompt of {role}: expected {{text}} in it, once")
        return prompts


def read_endpoint(backend: str, variant: str, weights: Path | None) -> EndpointSettings:
    """Return the configuration that ``backend:VARIANT`` names. Raises MissingModel."""
    return read_settings(EndpointSettings, backend, variant, weights)


def read_settings(kind: type[Settings], backend: str, variant: str, weights: Path | None) -> Settings:
    """Return the configuration of a kind that ``backend:VARIANT`` names. Raises MissingModel."""
    if not variant:
        raise MissingModel(f"{backend} has no usual model: name a configuration, {backend}:NAME; see the documentation")
    file = Path(variant).expanduser()
    if file.suffix not in SUFFIXES:
        file = (weights or codec_superb_home() / "endpoints") / f"{variant}.yaml"
    try:
        return kind.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise MissingModel(f"{backend}:{variant}: cannot read {file}: {error.strerror}; write it there") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise MissingModel(f"{backend}:{variant}: {file.name}: {place}: {first['msg']}; correct it") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise MissingModel(f"{backend}:{variant}: {file.name} is no YAML file: {error}; correct it") from error
