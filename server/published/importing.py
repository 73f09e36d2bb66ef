"""Imports results that somebody else published; the package's own are never replaced."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from codec_superb.applications.mseb.result_json import MsebRow
from codec_superb.applications.table import PROBE_METRICS, PROBES
from codec_superb.applications.understanding.conversion.published import PublishedFigure
from codec_superb.applications.understanding.own import XARES
from codec_superb.applications.xares.result import LONGEST, Reading, XaresResult
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.literature.mseb import mseb_about, summaries
from codec_superb.pipeline.literature.uea import BOARDS, uea_board
from codec_superb.pipeline.submission.titles import title_fault
from codec_superb.server.database.models import PublishedResults, now
from codec_superb.server.database.session import bump_revision
from codec_superb.server.errors import BadRequest, NotFound
from codec_superb.server.names.skeleton import reserved_word
from codec_superb.server.people.audit import record
from codec_superb.server.published.repository import Kind, by_name, values_of

NOUNS: Mapping[Kind, tuple[str, str]] = {
    "mseb": ("encoder", "mseb"), "ultraeval": ("model", "tasks"), "xares": ("result", "xares"),
}  # fmt: skip
"""What each kind has results of, and its group of ``codec-superb admin``."""
MOST_PARTS = 1_000
"""Sub-tasks of an encoder, a table of the page each: the package's own rows have 390 of all encoders."""

MOST_CLIPS = 10**8
"""Of a figure: far above the largest dataset of a task."""


def add_encoders(
    session: Session, rows: Sequence[MsebRow], source: str, *, actor: str, replace: bool = False
) -> Mapping[str, int]:
    """Store the rows of each encoder in place of those that it had; return how many each has now.

    Those of another source are replaced where ``replace`` says so, else refused with a BadRequest, here and below.

    Raises BadRequest without rows, for an encoder of the package's own rows, for a locale that comes twice, for names
    that no page can show, and for more than :data:`MOST_PARTS` sub-tasks.
    """
    grouped: dict[str, list[MsebRow]] = {}
    for row in rows:
        grouped.setdefault(row.encoder, []).append(row)
    for encoder, own in grouped.items():
        _check_names({text for row in own for text in row[:6]})
        if (parts := len({(row.task, row.sub_task) for row in own})) > MOST_PARTS:
            raise BadRequest(f"{encoder}: expected results on at most {MOST_PARTS:,} sub-tasks, got {parts:,}")
        try:
            summaries(own)
        except PipelineError as error:
            raise BadRequest(str(error)) from error
    found = {encoder: [list(row[1:]) for row in own] for encoder, own in grouped.items()}
    return _add(session, "mseb", found, source, set(mseb_about()["encoders"]), actor, replace)


def add_models(
    session: Session, rows: Sequence[PublishedFigure], source: str, *, actor: str, replace: bool = False
) -> Mapping[str, int]:
    """Store the figures of each model in place of those that it had; return how many each has now.

    Raises BadRequest without figures, for names that no page can show, and for a model whose averages the package has.
    """
    _check_names({text for row in rows for text in (row.model, row.dataset, row.figure)})
    grouped: dict[str, list[list[Any]]] = {}
    for row in rows:
        grouped.setdefault(row.model, []).append(list(row[1:-1]))
    known = {of.model for board in BOARDS for of in uea_board(board)}
    return _add(session, "ultraeval", grouped, source, known, actor, replace)


def add_xares(
    session: Session, found: Sequence[XaresResult], source: str, *, actor: str, replace: bool = False
) -> Mapping[str, int]:
    """Store records of ``xares run``, each in place of that of its encoder, track, decoder and mode before.

    Returns how many figures each has. Raises BadRequest without records, for one of random weights, for names that no
    page can show, and for a figure that this program does not ship in that version, or that it cannot have.
    """
    for result in found:
        _check_names({result.encoder, result.track, result.decoder, result.language_model, result.mode})
        _check_names({text for of in (result.codec, *(each.heard for each in result.figures)) if of is not None
                      for text in (of.codec, of.title, of.family)})  # fmt: skip
        if result.random:
            raise BadRequest(f"{result.name}: expected trained weights, got random ones, whose figures say nothing")
        for reading in result.figures:
            _check(reading)
    grouped: dict[str, list[Any]] = {result.name: [result.model_dump(mode="json")] for result in found}
    _add(session, "xares", grouped, source, set(), actor, replace)
    return {result.name: len(result.figures) for result in found}


def _check_names(texts: Collection[str]) -> None:
    """Refuse what turns text around it, hides, reaches over other rows or speaks as the board: files are strangers'."""
    for text in sorted(texts):
        if text and (fault := title_fault(text, LONGEST)):
            raise BadRequest(f"a name of the results: expected {fault[0]}, got {fault[1]}; correct it")
        if word := reserved_word(text):
            raise BadRequest(f"a name of the results, {text!r}, says {word!r}, which is the board's to say: correct it")


def _check(reading: Reading) -> None:
    probe = PROBES.get(reading.task)
    figure = PROBE_METRICS.get(reading.figure)
    if probe is None or probe.origin or probe.group != XARES or figure not in probe.metrics:
        raise BadRequest(f"{reading.where}: expected a figure of a task of XARES-LLM that the program ships, got none")
    if probe.version != reading.version:
        raise BadRequest(
            f"{reading.where}: expected version {probe.version} of the task, got {reading.version}; make it again with "
            "this version of the program"
        )
    if reading.dataset not in probe.datasets:
        raise BadRequest(f"{reading.where}: expected a dataset of the task ({', '.join(probe.datasets)}), got another")
    least, most = figure.admitted
    clips = reading.clips
    for value in (*reading.by_seed.values(), clips.value, clips.low, clips.high):
        if value is not None and not least <= value <= most:
            raise BadRequest(f"{reading.where}: expected {least:g} to {most:g}, got {value:g}")
    if (count := max(reading.n, reading.failed)) > MOST_CLIPS:
        raise BadRequest(f"{reading.where}: expected at most {MOST_CLIPS:,} clips, got {count:.6g}")


def remove(session: Session, kind: Kind, name: str, *, actor: str) -> None:
    """Remove what was imported under a name. Raises NotFound for any other."""
    found = by_name(session, kind, name)
    if found is None:
        noun, group = NOUNS[kind]
        raise NotFound(f"no imported {noun} {name!r}; `codec-superb admin {group} list` shows them")
    session.delete(found)
    record(session, actor, "published.removed", name)
    bump_revision(session)


def _add(
    session: Session,
    kind: Kind,
    grouped: Mapping[str, list[list[Any]]],
    source: str,
    known: set[str],
    actor: str,
    replace: bool,
) -> Mapping[str, int]:
    noun = NOUNS[kind][0]
    if not grouped:
        raise BadRequest(f"expected results of at least one {noun}, got none")
    for name, results in grouped.items():
        if name in known:
            raise BadRequest(f"{name} is among the published rows of the program already: expected another {noun}")
        found = by_name(session, kind, name) or PublishedResults(kind=kind, name=name, source=source)
        if found.source != source and not replace:
            raise BadRequest(
                f"{name} has {values_of(found):,} values of another source, {found.source!r}, since "
                f"{found.added.date()}: expected --replace to put these in their place, or another name"
            )
        found.source, found.added, found.results = source, now(), results
        session.add(found)
        record(session, actor, "published.imported", name, source=source, rows=len(results))
    bump_revision(session)
    return {name: len(results) for name, results in grouped.items()}
