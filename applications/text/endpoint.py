"""Backend ``endpoint``: text encoders behind an address on the network, described by a configuration file.

Three forms of request are spoken: OpenAI's ``/embeddings``, which many servers take; Gemini's ``batchEmbedContents``;
and Vertex AI's ``predict`` (Gecko). None of the published services was reached from the development machine: the forms
follow their documentation and are tested against a server of the tests.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import ApplicationError, PredictionFailed
from codec_superb.applications.interface import Model, Setting, TextEncoder, TextRole
from codec_superb.applications.text.endpoint_settings import Api, EndpointSettings, read_endpoint
from codec_superb.applications.text.pooling import joined, unit
from codec_superb.applications.text.sending import Sender
from codec_superb.applications.text.tokens import check_text

NAME = "endpoint"
FOOTNOTE = re.compile(r"\[\d+\]")
_CONNECTION = {"key_variable", "batch", "retries", "backoff_s", "timeout_s"}
"""Settings that change no vector."""


class _Form(NamedTuple):
    """How an API is asked."""

    method: str
    """What is added to the address."""
    body: Callable[[EndpointSettings, Sequence[str]], dict[str, Any]]
    vectors: Callable[[Any], list[Any]]
    """Takes the vectors out of an answer; raises KeyError, TypeError or IndexError for another answer."""


def _openai_body(settings: EndpointSettings, texts: Sequence[str]) -> dict[str, Any]:
    size = {} if settings.dimensions is None else {"dimensions": settings.dimensions}
    # OpenAI's own package asks for base64 where nothing is said, and unpacks it
    return {"model": settings.model, "input": list(texts), "encoding_format": "float", **size}


def _gemini_body(settings: EndpointSettings, texts: Sequence[str]) -> dict[str, Any]:
    size = {} if settings.dimensions is None else {"outputDimensionality": settings.dimensions}
    model = f"models/{settings.model}"
    return {"requests": [{"model": model, "content": {"parts": [{"text": text}]}, **size} for text in texts]}


def _vertex_body(settings: EndpointSettings, texts: Sequence[str]) -> dict[str, Any]:
    size = {} if settings.dimensions is None else {"parameters": {"outputDimensionality": settings.dimensions}}
    return {"instances": [{"content": text} for text in texts], **size}


_FORMS: Mapping[Api, _Form] = {
    # `index` says which text a vector belongs to.
    "openai": _Form(
        "", _openai_body, lambda of: [row["embedding"] for row in sorted(of["data"], key=lambda row: row["index"])]
    ),
    "gemini": _Form(":batchEmbedContents", _gemini_body, lambda of: [row["values"] for row in of["embeddings"]]),
    "vertex": _Form(":predict", _vertex_body, lambda of: [row["embeddings"]["values"] for row in of["predictions"]]),
}


class Endpoint(TextEncoder):
    """Vectors that a server gives; ``endpoint:NAME`` names its configuration."""

    @cached_property
    def settings(self) -> EndpointSettings:
        """The configuration. Raises MissingModel."""
        return read_endpoint(NAME, self.variant, self.weights)

    def prepare(self) -> Model:
        """Read the configuration and look for the key; ask nothing. Raises MissingModel."""
        self.settings.key()
        return endpoint_model(NAME, self.settings)

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- it runs elsewhere
        """Open the connection."""
        self._sender = Sender(self.settings)

    def document(self, title: str, text: str) -> str:
        """Put a document into its prompt; a document without a title has ``none`` there, as Gemini's."""
        if self.settings.clean_documents:
            title, text = (" ".join(FOOTNOTE.sub("", part).lower().split()) for part in (title, text))
        prompt = self.settings.prompts.get("document", "{text}")
        given = {"title": title or "none", "text": text}
        return re.sub(r"\{(title|text)\}", lambda found: given[found[1]], prompt)

    def embed(self, texts: Sequence[str], role: TextRole) -> NDArray[np.float32]:
        """Embed texts in batches; long ones in even parts, whose mean counts."""
        prompt = "{text}" if role == "document" else self.settings.prompts.get(role, "{text}")
        parts = [even_parts(prompt.replace("{text}", text), self.settings.max_characters) for text in texts]
        flat = [part for of in parts for part in of]
        step = self.settings.batch
        rows = [row for start in range(0, len(flat), step) for row in self._asked(flat[start : start + step])]
        ends = np.cumsum([len(of) for of in parts])
        unit_length = self.settings.unit_length
        return np.stack(
            [joined(rows[end - len(of) : end], unit_length=unit_length) for of, end in zip(parts, ends, strict=True)]
        )

    def close(self) -> None:
        """Close the connection."""
        self._sender.close()

    def _asked(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        form, name = _FORMS[self.settings.api], self.settings.model
        answer = self._sender.send(form.method, form.body(self.settings, texts))
        try:
            rows = [np.asarray(row, np.float64) for row in form.vectors(answer)]
        except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
            raise PredictionFailed(f"{name}: expected vectors in the answer, got another ({error!r})") from error
        if len(rows) != len(texts):
            raise PredictionFailed(f"{name}: expected {len(texts)} vectors, got {len(rows)}")
        for row in rows:
            self._check(row)
        singles = [row.astype(np.float32) for row in rows]
        return [unit(row) for row in singles] if self.settings.unit_length else singles

    def _check(self, row: NDArray[np.float64]) -> None:
        wanted, name = self.settings.dimensions, self.settings.model
        if row.ndim != 1 or not row.size or not np.isfinite(row).all():
            raise PredictionFailed(f"{name}: expected a row of finite numbers, got another of shape {row.shape}")
        if wanted is not None and row.size != wanted:
            raise ApplicationError(
                f"{name}: expected vectors of {wanted} numbers, as its configuration says, got {row.size}; correct it"
            )


def endpoint_model(backend: str, settings: EndpointSettings) -> Model:
    """Return the identity of a model on the network: what determines its answers, without key and address in plain."""
    told = settings.model_dump_json(exclude=_CONNECTION)
    shown: dict[str, Setting] = {
        "api": settings.api,
        "max_characters": settings.max_characters,
        "long_text": "mean of the vectors of even parts",
        "clean_documents": settings.clean_documents,
        "unit_length": settings.unit_length,
        **{f"prompt_{role}": prompt for role, prompt in sorted(settings.prompts.items())},
    }
    return Model(f"{backend}:{settings.model}", hashlib.sha256(told.encode()).hexdigest(), shown)


def even_parts(text: str, limit: int) -> list[str]:
    """Divide a text into parts of at most ``limit`` characters and like length, at spaces where there are some.

    Raises PredictionFailed for a text that is refused, see :func:`~codec_superb.applications.text.tokens.check_text`.
    """
    check_text(text)
    parts: list[str] = []
    while len(text) > limit:
        wanted = -(-len(text) // (-(-len(text) // limit)))
        space = text.rfind(" ", wanted // 2, wanted)
        cut = wanted if space < 0 else space
        parts.append(text[:cut])
        text = text[cut:].lstrip(" ")
    return [*parts, text] if text or not parts else parts
