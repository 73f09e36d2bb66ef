"""Text encoders that tests of chains put into the catalogue: they count letters, keep a record, and fail when told to.

What a text does to an encoder is said by the word that it holds (``KILLS``, …).
"""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from codec_superb.applications import catalogue
from codec_superb.applications.backends import BackendEntry
from codec_superb.applications.catalogue import make_second_stage
from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Model, Samples, TextEncoder, TextRole
from codec_superb.applications.text.nearest import read_search
from codec_superb.data_manifests import open_dataset
from codec_superb.pipeline.probing.chain import SecondPlan
from codec_superb.pipeline.probing.embedding import Embedder
from codec_superb.pipeline.probing.text_vectors import StoredTextVectors
from codec_superb.pipeline.workers.executor import Executor
from codec_superb.pipeline.workers.progress import Progress, SilentProgress

RECORD = "TEXTS_RECORD"
"""Variable that names the file to which every text that is embedded is added, a line each."""
KILLS, REFUSES, GIVES_NAN, OTHER_LENGTH = "killing", "refused", "nan", "longer"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Letters(TextEncoder):
    """Counts of 26 letters, and a number for the role; the variant is part of the model's identity."""

    one_copy_per_worker: ClassVar[bool] = True

    def prepare(self) -> Model:
        """Describe a model that needs no file."""
        name = type(self).__name__.lower() + (f":{self.variant}" if self.variant else "")
        return Model(name, hashlib.sha256(name.encode()).hexdigest(), {"letters": 26})

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load nothing."""

    def embed(self, texts: Sequence[str], role: TextRole) -> Samples:
        """Count, or do what a text says."""
        _record(texts)
        if self.variant == "slow":
            time.sleep(0.05)
        return np.array([self._row(text, role) for text in texts], np.float32)

    def document(self, title: str, text: str) -> str:
        """Take the title along."""
        return f"{title}: {text}"

    def _row(self, text: str, role: TextRole) -> list[float]:
        if KILLS in text:
            os.kill(os.getpid(), signal.SIGKILL)
        if REFUSES in text:
            raise PredictionFailed("refused for a test")
        row = [float(text.lower().count(letter)) for letter in LETTERS]
        row.append({"query": 1.0, "document": 2.0, "sentence": 3.0}[role])
        return [float("nan"), *row[1:]] if GIVES_NAN in text else row


class LargeLetters(Letters):
    """One process with all cores."""

    one_copy_per_worker: ClassVar[bool] = False


class Lengths(Letters):
    """As many numbers as a text has words: no encoder."""

    def embed(self, texts: Sequence[str], role: TextRole) -> Samples:
        """Answer to each text alone."""
        return np.ones((len(texts), max(len(text.split()) for text in texts)), np.float32)


ENTRIES = {
    kind.__name__.lower(): BackendEntry(
        kind.__name__.lower(), ("text",), f"support.pipeline.text_encoders:{kind.__name__}", "probes", "for tests"
    )
    for kind in (Letters, LargeLetters, Lengths)
}


def install() -> None:
    """Put the encoders into the catalogue of this process."""
    catalogue.BACKENDS.update(ENTRIES)


def plan_of(spec: str) -> SecondPlan:
    """Prepare an encoder as a chain's second stage."""
    name, _, variant = spec.partition(":")
    entry = ENTRIES.get(name) or catalogue.BACKENDS[name]
    variant, search = read_search(variant)
    stage = make_second_stage(entry, variant)
    model = stage.prepare()
    return SecondPlan(entry, stage, model, model, search)


@contextmanager
def vectors_of(
    folder: Path, spec: str = "letters", *, workers: int = 1, progress: Progress | None = None
) -> Iterator[StoredTextVectors]:
    """Give the vectors of the texts of the dataset in a folder."""
    with Executor(workers) as pool, ExitStack() as stack:
        plan = plan_of(spec)
        embedder = Embedder(plan, "cpu", progress or SilentProgress(), pool, stack)
        yield StoredTextVectors(plan, open_dataset(str(folder)), embedder)


def embed(order: dict[str, Any], progress: Progress) -> None:
    """Embed a collection and some texts, as ordered."""
    with vectors_of(Path(order["out"]), order["encoder"], workers=2, progress=progress) as vectors:
        vectors.of_collection(order["collection"], "document")
        vectors.of_texts(order["texts"], "query")


def _record(texts: Sequence[str]) -> None:
    if path := os.environ.get(RECORD):
        with Path(path).open("ab", buffering=0) as file:
            file.write("".join(f"{text}\n" for text in texts).encode())
