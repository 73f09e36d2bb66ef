"""The second stage of a chain over the transcripts of one dataset: vectors of them, or a reader's answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from codec_superb.applications.interface import Item, TextEncoder, TextQuestion
from codec_superb.applications.probe import Probe, Side
from codec_superb.data_manifests import Dataset
from codec_superb.pipeline.probing.chain import SecondPlan, transcripts
from codec_superb.pipeline.probing.clip import checked_answer
from codec_superb.pipeline.probing.embedding import Embedder
from codec_superb.pipeline.probing.predictions import Answer, PredictionSet, model_digest, split_failures
from codec_superb.pipeline.probing.reference_predictions import open_references
from codec_superb.pipeline.probing.scoring import Answers, SidePredictions
from codec_superb.pipeline.probing.store import ProbeStore
from codec_superb.pipeline.probing.text_vectors import StoredTextVectors
from codec_superb.pipeline.tables import strict_json
from codec_superb.pipeline.workers.executor import usable_cores
from codec_superb.pipeline.workers.progress import Progress

CONTEXTS = "contexts"
"""Collection of the texts that a reader looks for answers in; a clip's label ``context`` names its row. The options
``contexts`` and ``context`` of a task name others."""
BATCH = 16
"""Questions that a reader is given at once."""


def open_second_stage(embedder: Embedder, dataset: Dataset, *, overwrite: bool) -> SecondStageAnswers:
    """Return the second stage for the clips of ``dataset``; nothing is loaded before it is needed.

    ``overwrite`` asks a reader again. Vectors follow from model and text, and are kept.
    """
    plan = embedder.plan
    if isinstance(plan.stage, TextEncoder):
        return Encoding(plan, StoredTextVectors(plan, dataset, embedder))
    embedder.stack.callback(plan.stage.close)
    return Reading(plan, dataset, embedder.device, embedder.progress, overwrite)


class SecondStageAnswers(Protocol):
    """What a second stage gives for the clips of a run."""

    def answers(self, row: Probe, heard: SidePredictions, items: Sequence[Item], store: ProbeStore) -> Answers:
        """Return the answers of a probe for both sides of one run, from the transcripts of both."""
        ...


@dataclass(frozen=True, slots=True)
class Encoding:
    """Transcripts become vectors; sounds of a model with two towers are vectors already."""

    plan: SecondPlan
    vectors: StoredTextVectors

    def answers(self, row: Probe, heard: SidePredictions, items: Sequence[Item], store: ProbeStore) -> Answers:  # noqa: ARG002
        """Encode the transcripts of both sides."""
        if self.plan.whole == self.plan.model:
            return Answers(heard, vectors=self.vectors)
        sides = SidePredictions(self._encoded(heard.reference), self._encoded(heard.resynthesis))
        return Answers(sides, _texts(heard), self.vectors)

    def _encoded(self, side: PredictionSet) -> PredictionSet:
        """Return the vectors of the transcripts of one side as queries, in place of the transcripts."""
        heard = transcripts(side)
        found = self.vectors.answers(list(heard.values()), "query")
        return joined(side, dict(zip(heard, found, strict=True)))


@dataclass(slots=True)
class Reading:
    """A reader answers from the transcripts and the clip's context; its answers are journalled like predictions."""

    plan: SecondPlan
    dataset: Dataset
    device: str
    progress: Progress
    overwrite: bool
    _loaded: bool = False
    _tried: set[tuple[str, str]] = field(default_factory=set)
    """Probes and references that were asked for in this call: once for all runs."""

    def answers(self, row: Probe, heard: SidePredictions, items: Sequence[Item], store: ProbeStore) -> Answers:
        """Ask for what is in no journal."""
        hashes = {name: self.dataset.collections[name] for name in row.collections}
        digest = strict_json.digest({"model": model_digest(self.plan.whole), "probe": row.key, "collections": hashes})
        asked = [item for item in items if item.category in row.categories and all(map(item.label, row.labels))]
        texts = _texts(heard)
        name = row.option("contexts") or CONTEXTS
        label = f"extra:{row.option('context') or 'context'}"
        contexts = {of.id: of for of in self.dataset.collection(name).rows()} if asked else {}

        def questions(side: Side) -> dict[str, TextQuestion]:
            found = {}
            for item in asked:
                of = contexts.get(str(item.label(label)))
                if item.clip in texts[side] and of is not None:
                    found[item.clip] = TextQuestion(item, texts[side][item.clip], of.title, of.text)
            return found

        with open_references(self.dataset.manifest_hash, digest, self.progress) as known:
            on_references = questions("reference")
            todo = [
                question
                for clip, question in on_references.items()
                if (row.key, clip) not in self._tried and (self.overwrite or known.missing(question.item))
            ]
            for question, answer in self._ask(todo):
                known.record(question.item, answer)
                self._tried.add((row.key, question.item.clip))
            originals = {clip: known.answer(of.item) for clip, of in on_references.items()}
        on_resyntheses = questions("resynthesis")
        todo = [of for clip, of in on_resyntheses.items() if store.missing(clip, digest, overwrite=self.overwrite)]
        for question, answer in self._ask(todo):
            store.record(question.item.clip, digest, answer)
        given = {clip: store.answer(clip, digest) for clip in on_resyntheses}
        sides = (joined(heard.reference, originals), joined(heard.resynthesis, given))
        return Answers(SidePredictions(*sides), texts)

    def _ask(self, questions: Sequence[TextQuestion]) -> Iterator[tuple[TextQuestion, Answer]]:
        """Yield each question with its answer or failure."""
        stage = self.plan.stage
        if questions and not self._loaded:
            stage.load(self.plan.model, "cpu" if self.device == "auto" else self.device, usable_cores())
            self._loaded = True
        self.progress.start(f"{self.plan.model.name} on {self.dataset.name}", len(questions), 0)
        for start in range(0, len(questions), BATCH):
            part = questions[start : start + BATCH]
            for question, answer in zip(part, stage.answer(part), strict=True):
                yield question, checked_answer(answer)
                self.progress.advance()


def joined(heard: PredictionSet, answers: Mapping[str, Answer | None]) -> PredictionSet:
    """Return the second stage's answers of one side; a clip that was not heard keeps the recogniser's reason."""
    found = split_failures({clip: answer for clip, answer in answers.items() if answer is not None})
    return PredictionSet(found.predictions, {**heard.failures, **found.failures})


def _texts(heard: SidePredictions) -> dict[Side, Mapping[str, str]]:
    return {"reference": transcripts(heard.reference), "resynthesis": transcripts(heard.resynthesis)}
