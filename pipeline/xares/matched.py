"""Training on resyntheses: a decoder that has heard the codec (mode *matched*)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from codec_superb.applications.clips import at_rate
from codec_superb.applications.embed.frames_store import sound_key
from codec_superb.applications.interface import Samples
from codec_superb.applications.xares.configuration import Track
from codec_superb.applications.xares.examples import Example, examples_of
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.runs.audio_store import read_audio
from codec_superb.pipeline.runs.finished import by_dataset
from codec_superb.pipeline.runs.folder import find_runs


def matched_examples(track: Track, runs: Sequence[Path]) -> tuple[str, Mapping[str, Sequence[Example]]]:
    """Return a codec, and the training sounds of a track as it gave them back; clips that it failed on are left out.

    Raises PipelineError for runs of several codecs, and for a training dataset without a run.
    """
    folders = find_runs(runs)
    if len(codecs := {folder.info().title for folder in folders}) != 1:
        raise PipelineError(f"matched training: expected runs of one codec, got {', '.join(sorted(codecs)) or 'none'}")
    sounds: dict[str, tuple[str, Path]] = {}
    for group in by_dataset(folders):
        for folder in group.folders:
            for clip, sha256 in folder.resyntheses():
                if sha256:
                    sounds[sound_key(group.spec.manifest_hash, clip)] = sha256, folder.audio_path(clip)
    found = {
        task: [_resynthesised(of, *sounds[of.key]) for of in examples if of.key in sounds]
        for task, examples in examples_of(track).items()
    }
    if missing := [task for task, examples in found.items() if not examples]:
        raise PipelineError(
            f"matched training: no run has the training sounds of {missing[0]}; "
            f"resynthesise {', '.join(track.tasks[missing[0]].train)} with the codec first"
        )
    return codecs.pop(), found


def _resynthesised(of: Example, sha256: str, file: Path) -> Example:
    return replace(of, key=sha256, load=functools.partial(_load, file, sha256))


def _load(file: Path, sha256: str, rate: int) -> Samples:
    return at_rate(*read_audio(file, sha256), rate)
