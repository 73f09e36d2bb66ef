"""Puts the sounds of a listening test together: from runs, lossless, or from the samples of submissions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from codec_superb.pipeline.errors import PipelineError

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from codec_superb.pipeline.listening.sounds import ClipSounds
    from codec_superb.server.database.models import Submission
    from codec_superb.server.listening_tests.definition import Definition
    from codec_superb.server.listening_tests.service import NewSound
    from codec_superb.server.settings import Settings

FROM_RUNS = "The sounds come from the runs without loss."
FROM_SAMPLES = (
    "The sounds are the samples of the submissions, of ten seconds at most: all of them, the reference too, have "
    "passed Opus at 64 kbps for transport, in the same way."
)
_LEVELS = "Each codec's sound has the level of its reference."


def read_definition(file: Path) -> Definition:
    """Read the definition of a test. Raises PipelineError for what is none, a sentence for each fault."""
    import yaml
    from pydantic import ValidationError

    from codec_superb import strict_yaml
    from codec_superb.field_faults import sentences
    from codec_superb.server.listening_tests.definition import Definition

    try:
        return Definition.model_validate(strict_yaml.load(file.read_text(encoding="utf-8")))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise PipelineError(f"the definition {file} is no YAML: {' '.join(str(error).split())[:200]}") from error
    except ValidationError as error:
        raise PipelineError(f"the definition {file}: {sentences(error)}") from error
    except OSError as error:
        raise PipelineError(f"cannot read the definition {file}: {error.strerror or error}") from error


def source_of(definition: Definition, runs: Path | None) -> str:
    """Say where the sounds of a test come from, for its listeners."""
    source = FROM_SAMPLES if runs is None else FROM_RUNS
    return f"{source} {_LEVELS}" if definition.levels == "rms" else source


def clips_of_runs(definition: Definition, runs: Path) -> Iterator[ClipSounds]:
    """Yield the clips of a test from runs below a folder. Raises as ``sounds_of_runs``."""
    from codec_superb.pipeline.listening.runs import sounds_of_runs

    return sounds_of_runs(
        runs, definition.codecs, dataset=definition.dataset, clips=definition.clips, most=definition.most_clips,
        any_licence=definition.any_licence,
    )  # fmt: skip


def clips_of_samples(
    session: Session, definition: Definition, submissions: list[Submission], settings: Settings
) -> Iterator[ClipSounds]:
    """Yield the clips of a test that all submissions carry as samples: those named, or some of all categories by turns.

    Raises PipelineError where a named clip is not among them, and where there is none.
    """
    from codec_superb.pipeline.listening.sounds import ClipSounds, decode
    from codec_superb.server.compare.listening import shared_samples
    from codec_superb.server.storage.samples import stored_sound

    shared = {
        entry.key[1]: entry
        for entry in shared_samples(session, submissions)
        if definition.dataset in {None, entry.key[0]}
    }
    missing = [clip for clip in definition.clips if clip not in shared]
    groups: dict[str, list[str]] = {}
    for clip, entry in shared.items():
        groups.setdefault(entry.samples[0].category, []).append(clip)
    by_turns = [clip for turn in zip_longest(*groups.values()) for clip in turn if clip is not None]
    chosen = definition.clips or tuple(by_turns[: definition.most_clips])
    if missing or not chosen:
        raise PipelineError(
            f"expected clips that are samples of all of {', '.join(definition.codecs)}, got "
            f"{', '.join(missing) or 'no shared one'}; name others, or bring the sounds of runs: --runs DIR"
        )
    for clip in chosen:
        samples = shared[clip].samples
        pairs = list(zip(submissions, samples, strict=True))
        reference, rate = decode(stored_sound(settings, *pairs[shared[clip].original], "reference"), clip)
        heard = {
            of.codec.name: decode(stored_sound(settings, of, sample, "resynthesis"), f"{clip} through {of.codec.name}")[
                0
            ]
            for of, sample in pairs
        }
        credit = f"{samples[0].attribution}{'. ' if samples[0].attribution else ''}Licence: {samples[0].licence}"
        yield ClipSounds(clip, rate, reference, heard, credit)


def stimuli(
    definition: Definition, clips: Iterable[ClipSounds], submissions: dict[str, str], gold: int
) -> Iterator[NewSound]:
    """Make the sounds of every clip and condition; of the first ``gold`` clips also a gold question."""
    from codec_superb.pipeline.listening.sounds import MEDIA_TYPE, conditions_of, encode
    from codec_superb.server.listening_tests.service import NewSound

    for number, clip in enumerate(clips):
        made = conditions_of(
            clip, anchors=definition.with_anchors, gold=number < gold, levels=definition.levels,
            seconds=definition.seconds,
        )  # fmt: skip
        for condition, data in encode(made, clip.rate).items():
            yield NewSound(clip.clip, condition, data, MEDIA_TYPE, clip.credit, submissions.get(condition))


def trap_stimuli(definition: Definition, folder: Path) -> Iterator[NewSound]:
    """Make the sounds of the recorded questions, whose files lie beside the definition."""
    from codec_superb.pipeline.listening.sounds import MEDIA_TYPE, decode, encode
    from codec_superb.server.listening_tests.definition import TRAP
    from codec_superb.server.listening_tests.service import NewSound

    for number, trap in enumerate(definition.traps, start=1):
        try:
            audio, rate = decode((folder / trap.file).read_bytes(), trap.file)
        except OSError as error:
            raise PipelineError(f"cannot read the recorded question {trap.file}: {error.strerror or error}") from error
        yield NewSound(f"{TRAP} {number}", TRAP, encode({TRAP: audio}, rate)[TRAP], MEDIA_TYPE, "")
