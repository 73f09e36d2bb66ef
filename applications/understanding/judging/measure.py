"""Scores answers by kept replies of a judge. Asks nobody."""

from __future__ import annotations

from collections.abc import Mapping

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.task_definitions.definition import Use
from codec_superb.applications.understanding.cases import Case, Result
from codec_superb.applications.understanding.judging.reading import Reader
from codec_superb.applications.understanding.judging.roles import Request, requests_of
from codec_superb.applications.understanding.measures.table import MEASURES, Measure
from codec_superb.plugins import load

Judgements = Mapping[str, str | PredictionFailed]
"""Replies of a judge by the key of the request."""


def judged(use: Use, judgements: Judgements) -> Measure:
    """Return the measure that looks replies up.

    It raises PredictionFailed for an answer that the judge gave no reply about.
    """
    reader: Reader = load(MEASURES[use.name].target)

    def measure(answer: str, case: Case) -> Result:
        return reader([_reply(request, judgements) for request in requests_of(use, answer, case)])

    return measure


def _reply(request: Request, judgements: Judgements) -> str:
    reply = judgements.get(request.key, PredictionFailed("was not asked; name it with --judge"))
    if isinstance(reply, PredictionFailed):
        raise PredictionFailed(f"judge: {reply}")
    return reply
