"""Run a codec on a private dataset: rows come back, and neither sound, names nor the text of an error stays or leaves.

Errors of the stages name clips and paths. Of an error only its kind goes further, and of failed clips their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from codec_superb.base_codec import registry
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodecError, MissingDependency
from codec_superb.data_manifests import DatasetError, open_dataset
from codec_superb.metrics.errors import MetricError
from codec_superb.metrics.table import Category, overall_metrics
from codec_superb.pipeline.errors import NoRoom, PipelineError
from codec_superb.pipeline.output_file import NO_ROOM
from codec_superb.pipeline.private_sets.commitment import commitment, unreadable_for_others
from codec_superb.pipeline.private_sets.scratch import scratch_folder
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.verification.again import CannotRun, Rerun, options_of, refuse_another
from codec_superb.pipeline.workers.devices import Device
from codec_superb.pipeline.workers.executor import Executor

_FULL = "there is no room on the disk of this machine"
_KINDS: tuple[tuple[type[Exception], str], ...] = (
    (CannotRun, "the codec of the submission's card is not in the catalogue here, or has other settings or weights"),
    (DatasetError, "the dataset cannot be opened on this machine"),
    (MissingDependency, "the codec lacks a package or a library on this machine"),
    (CodecError, "the codec cannot be opened on this machine"),
    (MetricError, "the metrics cannot be computed on this machine"),
    (NoRoom, _FULL),
    (PipelineError, "a stage could not go on"),
    (OSError, "files could not be read or written"),
)
"""What is said of an error in place of its text, the first that fits."""


class PrivateRunFailed(PipelineError):
    """A private run without rows; the text is one of a few sentences and names neither clip nor path."""


class NoRoomForRun(PrivateRunFailed):
    """The same where the disk is full: no fault of codec or dataset, and worth another attempt."""


def private_rows(
    card: Card,
    spec: str,
    *,
    salt: str,
    committed: str,
    scratch: Path,
    categories: Sequence[Category],
    clip_seconds: float,
    device: Device = "auto",
    workers: int | None = None,
) -> list[ClipRow]:
    """Run the codec that ``card`` names on the dataset ``spec``; score it by the overall score of ``categories``.

    Everything that is written lies in a folder below ``scratch`` that is gone afterwards. A failed clip is a failed
    row, and so is one that takes a stage longer than ``clip_seconds``. Raises NoRoomForRun where the disk is full, and
    PrivateRunFailed, also where the dataset is not the one that was ``committed`` to with ``salt``, and where the codec
    of this name has other settings or weights here than the card says.
    """
    try:
        with ExitStack() as stack:
            stack.enter_context(unreadable_for_others())
            folder = stack.enter_context(scratch_folder(scratch))
            if commitment(salt, open_dataset(spec).manifest_hash) != committed:
                kind = "the dataset is not the one that was committed to"
            else:
                pool = stack.enter_context(Executor(workers, timeout=clip_seconds))
                return list(_rows(card, spec, categories, Rerun(folder, device=device), pool))
    except Exception as error:  # noqa: BLE001 - whatever it is, its text must go no further
        kind = kind_of(error)
    # outside of the block: an error raised inside would carry the first one with it, into any log
    raise NoRoomForRun(kind) if kind == _FULL else PrivateRunFailed(kind)


def _rows(card: Card, spec: str, categories: Sequence[Category], how: Rerun, pool: Executor) -> Iterator[ClipRow]:
    if card.name not in registry.names():  # never a file that somebody names in a card
        raise CannotRun(card.name)
    options = options_of(card, how)
    (made,) = resynthesise([card.name], [spec], out=how.out, device=how.device, options=options, executor=pool)
    run = RunFolder(made.path)
    refuse_another(card, run.info().card)
    score(
        [run.path],
        metrics=list(dict.fromkeys(key for each in categories for key in overall_metrics(each))),
        executor=pool,
    )
    return run.rows()


def kind_of(error: Exception) -> str:
    """Say what kind of error it is, without a word of its text."""
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return _FULL
    return next((words for kind, words in _KINDS if isinstance(error, kind)), f"internal error {type(error).__name__}")


def failures_in_words(rows: Sequence[ClipRow]) -> str:
    """Count what failed, by kind: ``2 of 40 clips without resynthesis (decode: CodingFailed 2); pesq failed on 1``."""
    kinds = Counter(f"{row.stage}: {row.error_type}" for row in rows if row.status == "failed")
    metrics = Counter(
        key for row in rows if row.status == "ok" for key, entry in row.metrics.items() if entry.status == "failed"
    )
    parts = []
    if kinds:
        listed = ", ".join(f"{kind} {number}" for kind, number in sorted(kinds.items()))
        parts.append(f"{kinds.total()} of {len(rows)} clips without resynthesis ({listed})")
    parts += [f"{key} failed on {number}" for key, number in sorted(metrics.items())]
    return "; ".join(parts) or f"{len(rows)} clips measured"
