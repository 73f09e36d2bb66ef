"""Words and marks that are the board's to say, looked for in what pages show of a submission as facts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from codec_superb.pipeline.submission.titles import badge_like
from codec_superb.server.database.models import Submission
from codec_superb.server.names.skeleton import reserved_word

_NOT_READ = frozenset({"command", "started"})
"""Of a stamp: a command line is seen to be one."""
_PROGRAM = re.compile(r"^codec[-_]superb(?=[-_\w.]*(?: \d[\w.+!]*)?$)")
"""The program's name as that of a package, its own or a plug-in's, with a version or without."""


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
    """Yield words of the board in what the codec's page shows as facts of the run and of metrics; not of commands."""
    datasets = submission.document["datasets"]
    stamps = [
        {name: value for name, value in stamp.items() if name not in _NOT_READ}
        for dataset in datasets
        for stamp in dataset.get("provenance", ())
    ]
    parts = {
        "fact of the run": _told([*stamps, *(dataset.get("operations") for dataset in datasets)]),
        "fact of a metric": _told(submission.document.get("custom_metrics", {})),
        "version of a metric": iter(submission.document.get("metrics", {}).values()),
    }
    for what, texts in parts.items():
        for told in said_of_the_board(what, set(texts)):
            yield "name", told


def _told(data: Any) -> Iterator[str]:
    """Yield all texts of records, with the names that they have there, and names of other values."""
    if isinstance(data, list):
        for each in data:
            yield from (each,) if isinstance(each, str) else _told(each)
    for name, value in data.items() if isinstance(data, Mapping) else ():
        named = _PROGRAM.sub("", name).replace("_", " ")
        if isinstance(value, str):
            yield f"{named}: {_PROGRAM.sub('', value)}"
        else:
            yield named
            yield from _told(value)
