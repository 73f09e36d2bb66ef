"""The pass of a judge over the answers of chats: each request is asked once, for all runs and commands, and kept.

``<home>/judgements/<judge digest>.jsonl``, one line per request, by the SHA-256 of the rendered prompt and decoding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from codec_superb.applications.errors import MissingModel, PredictionFailed
from codec_superb.applications.interface import ScoringInput, Setting, Terms
from codec_superb.applications.probe import SIDES, Probe
from codec_superb.applications.table import probe
from codec_superb.applications.understanding.judging.judge import TextJudge
from codec_superb.applications.understanding.judging.roles import Request, requests_of, roles
from codec_superb.applications.understanding.measures.table import MEASURES
from codec_superb.applications.understanding.processes.table import processed
from codec_superb.applications.understanding.scoring import case_of, definition_of
from codec_superb.data_manifests.home import codec_superb_home
from codec_superb.pipeline.probing.predictions import checked_text, model_digest
from codec_superb.pipeline.probing.reference_predictions import SHORT, alone
from codec_superb.pipeline.runs.journal import Journal
from codec_superb.pipeline.workers.progress import Progress, SilentProgress
from codec_superb.record import Record

_ANY = Terms()


class JudgementLine(Record):
    """A line of the journal."""

    clip: str
    """Key of the request; journals name it so."""
    judge: str
    text: str | None = None
    failed: str | None = None
    """Reason; such a request is asked again in the next call."""


class Judge:
    """A judge with what it has said."""

    def __init__(self, judge: TextJudge, progress: Progress | None = None, terms: Terms = _ANY) -> None:
        """By ``terms.anew`` what is kept is asked once more, each request once for all runs of the call."""
        judge.terms = terms
        self._judge = judge
        self._progress = progress or SilentProgress()
        self._anew = terms.anew
        self._fresh: set[str] = set()

    def settings(self, row: Probe) -> dict[str, Setting]:
        """Return what a result tells of judge and prompt; nothing for tasks that no judge reads."""
        if not is_judged(row):
            return {}
        model, role = self._judge.model, roles()[definition_of(row).task.measure.name]
        return {"judge": model.name, "judge_sha256": model_digest(model), **role.settings()}

    def judgements(self, row: Probe, question: ScoringInput) -> dict[str, str | PredictionFailed]:
        """Return the replies to all that must be asked to score a task, asking what is in no journal."""
        return self.ask(list(wanted(row, question)), row.label)

    def ask(self, requests: Sequence[Request], title: str) -> dict[str, str | PredictionFailed]:
        """Return the replies by the key of the request.

        Raises ModelUnusable where the server is not there, or the budget does not suffice.
        """
        model = self._judge.model
        path = codec_superb_home() / "judgements" / f"{model_digest(model)[:SHORT]}.jsonl"
        by_key = {request.key: request for request in requests}
        found: dict[str, str | PredictionFailed] = {}
        lock = path.with_name(f".{path.name}.lock")
        with alone(lock, self._progress, "asks the same judge"), Journal(path, JudgementLine) as journal:
            for key in by_key:
                line = journal.last(key)
                if line is not None and line.text is not None and (key in self._fresh or not self._anew):
                    found[key] = line.text
            todo = {key: request for key, request in by_key.items() if key not in found}
            self._progress.start(f"{model.name} on {title}", len(by_key), len(found))
            for key, request in todo.items():
                try:
                    found[key] = reply = checked_text(self._judge.reply(request))
                    journal.append(JudgementLine(clip=key, judge=model.name, text=reply))
                    self._fresh.add(key)
                except PredictionFailed as error:
                    found[key] = error
                    journal.append(JudgementLine(clip=key, judge=model.name, failed=str(error)))
                self._progress.advance()
        return found

    def close(self) -> None:
        """Close the connection."""
        self._judge.close()


def is_judged(row: Probe) -> bool:
    """Whether the answers of a probe are read by a judge."""
    return row.definition is not None and MEASURES[definition_of(row).task.measure.name].judged


def judge_of(
    keys: Sequence[str], name: str, weights: Path | None, progress: Progress | None = None, terms: Terms = _ANY
) -> Judge | None:
    """Return the judge for some probes, None where none of them is judged. Raises MissingModel."""
    judged = [key for key in keys if is_judged(probe(key))]
    if not judged:
        return None
    if not name:
        raise MissingModel(
            f"{judged[0]}: a judge reads its answers, and none is named: add --judge NAME (Python: judge=NAME)"
        )
    return Judge(TextJudge(name, weights), progress, terms)


def wanted(row: Probe, question: ScoringInput) -> Iterator[Request]:
    """Yield what must be asked to score the answers of a judged task; the same may come twice."""
    task = definition_of(row).task
    for item in question.items:
        case = case_of(task, item)
        if case is None or item.clip in question.failures:
            continue
        for side in SIDES:
            answer = getattr(question, side).get(item.clip)
            if isinstance(answer, str):
                with suppress(PredictionFailed):  # the score of the clip says why
                    yield from requests_of(task.measure, processed(answer, task.after), case)
