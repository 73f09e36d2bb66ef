"""The probe stage's view of one run: its clips, the predictions on its resyntheses, and the missing ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from codec_superb.applications.interface import Model, Setting
from codec_superb.applications.probe import Probe
from codec_superb.applications.results import ProbeInfo
from codec_superb.data_manifests import Dataset
from codec_superb.metrics.table import Category
from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.probing.predictions import (
    Answer,
    Failure,
    answer_of,
    needs_prediction,
    to_line,
)
from codec_superb.pipeline.runs.finished import selected_clips
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.tables.rows import ResynthesisRow


class RunClip(NamedTuple):
    """A clip of a run after the resynth stage."""

    clip: str
    category: Category
    sha256: str
    """SHA-256 of the resynthesis; '' where there is none."""
    seconds: float
    failure: str
    """Reason of a missing resynthesis."""


class ProbeStore:
    """The journals of one run, opened for probing."""

    def __init__(self, folder: RunFolder, dataset: Dataset, stack: ExitStack) -> None:
        """Lock the run and open its journals until ``stack`` ends. Raises RunFolderError for an unusable run."""
        stack.enter_context(folder.lock())
        self.folder = folder
        self.info = folder.info()
        rows = stack.enter_context(folder.resynth_journal())
        self._predictions = stack.enter_context(folder.probe_journal())
        self._fresh: set[tuple[str, str]] = set()
        self.computed: set[str] = set()
        """Clips that were predicted in this call, by any model."""
        self.models: dict[str, str] = {}
        """Hash of the identity of the model that was asked in this call, by probe."""
        self.clips = {
            clip: _run_clip(folder, dataset, clip, rows.last(clip))
            for clip in selected_clips(folder, self.info, dataset)
        }

    def missing(self, clip: str, digest: str, *, overwrite: bool) -> bool:
        """Whether the resynthesis of a clip must be predicted; a failed one is retried once per call."""
        if not self.clips[clip].sha256 or (clip, digest) in self._fresh:
            return False
        return overwrite or needs_prediction(self.answer(clip, digest))

    def answer(self, clip: str, digest: str) -> Answer | None:
        """Return the newest answer of a model on the current resynthesis, None without one."""
        of = self.clips[clip]
        wanted = (of.sha256, of.category, digest)
        lines = [line for line in self._predictions.entries(clip) if (line.sha256, line.category, line.model) == wanted]
        return answer_of(lines[-1]) if lines else None

    def record(self, clip: str, digest: str, answer: Answer) -> None:
        """Append an answer to the journal."""
        of = self.clips[clip]
        self._predictions.append(to_line(clip, of.category, answer, sha256=of.sha256, model=digest))
        self._fresh.add((clip, digest))
        self.computed.add(clip)

    def made(self, digest: str) -> bool:
        """Whether a prediction of the model on this run was computed in this call."""
        return any(model == digest for _, model in self._fresh)

    def is_current(
        self, probes: Mapping[Probe, Mapping[str, Setting]], model: Model, failures: Collection[str], *, made: bool
    ) -> bool:
        """Whether the table already holds these probes with this model, and its failed clips are in ``failures``.

        ``probes`` have the settings that their collections and the search add; ``made`` says whether this call computed
        a prediction. A clip may have failed on a reference that another command has predicted successfully since.
        """
        if made:
            return False
        if not all(_same(self.info.probes.get(row.key), row, model, added) for row, added in probes.items()):
            return False
        return not any(
            of.key in row.probes and row.probes[of.key].status == "failed" and row.clip not in failures
            for row in self.folder.rows()
            for of in probes
        )

    def answers(self, clips: Sequence[str], digest: str) -> dict[str, Answer]:
        """Return a model's answer for each clip; a clip without a resynthesis gets a failure with its reason."""
        found: dict[str, Answer] = {}
        for clip in clips:
            of = self.clips[clip]
            answer = self.answer(clip, digest) if of.sha256 else Failure(f"no resynthesis: {of.failure}")
            if answer is not None:
                found[clip] = answer
        return found


def _same(info: ProbeInfo | None, row: Probe, model: Model, added: Mapping[str, Setting]) -> bool:
    """Whether a probe was run with this definition, this model and these collections."""
    if info is None or (info.version, info.backend, info.model_sha256) != (row.version, model.name, model.sha256):
        return False
    wanted = {**model.settings, **added}
    return all(name in info.settings and info.settings[name] == value for name, value in wanted.items())


def _run_clip(folder: RunFolder, dataset: Dataset, clip: str, row: ResynthesisRow | None) -> RunClip:
    """Return the resynth result of a clip. Raises RunFolderError where the dataset's clip has changed."""
    if row is None:
        raise RunFolderError(f"{folder.path} has no row for {clip!r}; call resynth again")
    category = dataset.clip(clip).category
    if row.category != category:
        raise RunFolderError(f"{folder.path}: {clip!r} was {row.category} and is {category} now; call resynth again")
    if row.status != "ok":
        return RunClip(clip, category, "", 0.0, f"{row.stage}: {row.error}")
    return RunClip(clip, category, row.resynthesis_sha256 or "", row.seconds or 0.0, "")
