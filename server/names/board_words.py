"""Words and marks that are the board's to say, looked for in what pages show of a submission as facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from codec_superb.pipeline.submission.titles import badge_like
from codec_superb.server.database.models import Submission
from codec_superb.server.names.skeleton import reserved_word


def said_of_the_board(what: str, texts: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each of the texts with a word or a mark that is the board's."""
    for text in sorted(texts):
        if word := reserved_word(text):
            yield f"the {what} {text!r} says {word!r}, which is the board's to say"
        elif mark := badge_like(text):
            yield f"the {what} {text!r} has {mark}, which looks like a badge"


def told_settings(settings: Mapping[str, Any]) -> set[str]:
    """Return settings as texts, names included."""
    return {f"{name.replace('_', ' ')}: {value}" for name, value in settings.items()}


def stamp_doubts(submission: Submission) -> Iterator[tuple[str, str]]:
    """Yield words of the board in what the codec's page shows as facts of the machine; not of command lines."""
    stamps = [stamp for dataset in submission.document["datasets"] for stamp in dataset.get("provenance", ())]
    parts = {
        "machine": {stamp[part] for stamp in stamps for part in ("processor", "platform", "device", "python")},
        "backend of a metric": {text for stamp in stamps for text in told_settings(stamp.get("backends", {}))},
        "version of a package": {version for stamp in stamps for version in stamp["packages"].values()},
    }
    for what, texts in parts.items():
        for told in said_of_the_board(what, texts):
            yield "name", told
