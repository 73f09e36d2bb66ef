"""Words of the badges, and names of known datasets, in what a submission brings of its own: refused when it comes."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.applications.received import is_shipped
from codec_superb.base_codec.card import Card
from codec_superb.data_manifests.catalogue import manifest_names
from codec_superb.pipeline.submission.schema import SUBMISSION_NAME
from codec_superb.pipeline.submission.schema import Submission as Document
from codec_superb.server.database.models import Dataset, PrivateDataset
from codec_superb.server.errors import Refused
from codec_superb.server.names.skeleton import reserved_word, skeleton
from codec_superb.server.people.access import Identity


def check_shown_names(session: Session, submission: Document, caller: Identity) -> None:
    """Refuse what a submission brings of its own under a name with a word of the badges or of a known dataset.

    So its words about its sender, but where maintainers called the account so. Raises Refused.
    """
    if submission.submitter is not None and not reserved_word(caller.name, person=True):
        _refuse_words([("submitter.name", submission.submitter.name)], person=True)
    _check_own_words(submission)
    if submission.kind == "custom":
        _check_datasets(session, submission)


def _check_own_words(submission: Document) -> None:
    """Refuse words of the badges in names of datasets, metrics and tasks that are not the board's."""
    own = submission.kind == "custom"
    named = [(f"custom_metrics.{key}.label", each.label) for key, each in submission.custom_metrics.items()]
    for at, dataset in enumerate(submission.datasets):
        named += [(f"datasets.{at}.{field}", getattr(dataset, field)) for field in ("name", "title") if own]
        for place, probe in enumerate(dataset.probes):
            if probe.definition is not None and not is_shipped(probe):
                named.append((f"datasets.{at}.probes.{place}.definition.task.title", probe.definition.task.title))
                named.append((f"datasets.{at}.probes.{place}.backend", probe.backend))
    _refuse_words(named)


def _check_datasets(session: Session, submission: Document) -> None:
    """Refuse custom datasets that look like one of the catalogue, of this board, or a private one."""
    public = session.execute(select(Dataset.name, Dataset.title)).all()
    names = [
        *manifest_names(),
        *session.scalars(select(PrivateDataset.name)),
        *(text for row in public for text in row),
    ]
    taken = {skeleton(name): name for name in names}
    problems = [
        {
            "path": f"{SUBMISSION_NAME}: datasets.{position}.{field}",
            "expected": f"a {field} that does not look like that of {taken[skeleton(text)]}",
            "got": text,
            "how_to_fix": _OTHER_DATASET,
        }
        for position, dataset in enumerate(submission.datasets)
        for field, text in (("name", dataset.name), ("title", dataset.title))
        if skeleton(text) in taken
    ]
    if problems:
        raise Refused(f"a custom dataset has a known name; {_OTHER_DATASET}", problems=problems)


_OTHER_DATASET = "name the folder or manifest otherwise, run again and pack"


def check_words(card: Card) -> None:
    """Refuse a name, a title or a family with a word of the badges: who reads it would take it for the board's."""
    _refuse_words([(f"codec.{field}", getattr(card, field)) for field in ("name", "title", "family")])


def _refuse_words(named: Iterable[tuple[str, str]], *, person: bool = False) -> None:
    found = [(path, text, word) for path, text in named if (word := reserved_word(text, person=person))]
    if found:
        path, text, word = found[0]
        problems = [
            {
                "path": f"{SUBMISSION_NAME}: {each}",
                "expected": f"a {each.rpartition('.')[2]} without {said!r}, which is the board's to say",
                "got": given,
                "how_to_fix": "leave the word out",
            }
            for each, given, said in found
        ]
        raise Refused(
            f"the {path.rpartition('.')[2]} {text!r} says {word!r}, which is the board's to say: leave it out",
            problems=problems,
        )
