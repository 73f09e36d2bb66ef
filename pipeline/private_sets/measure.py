"""Run a codec on a private dataset: rows come back, and neither sound, names nor the text of an error stays or leaves.

Errors of the stages name clips and paths. Of an error only its kind goes further, and of failed clips their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodecError, MissingDependency
from codec_superb.base_codec.options import DEFAULT_OPTIONS, CodecOptions
from codec_superb.data_manifests import DatasetError, open_dataset
from codec_superb.metrics.errors import MetricError
from codec_superb.metrics.table import Category, overall_metrics
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.private_sets.commitment import commitment, unreadable_for_others
from codec_superb.pipeline.private_sets.scratch import scratch_folder
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.workers.devices import Device
from codec_superb.pipeline.workers.executor import Executor

_KINDS: tuple[tuple[type[Exception], str], ...] = (
    (DatasetError, "the dataset cannot be opened on this machine"),
    (MissingDependency, "the codec lacks a package or a library on this machine"),
    (CodecError, "the codec cannot be opened on this machine"),
    (MetricError, "the metrics cannot be computed on this machine"),
    (PipelineError, "a stage could not go on"),
    (OSError, "files could not be read or written"),
)
"""What is said of an error in place of its text, the first that fits."""
_RUN_ALIKE = (
    "kind", "sampling_rate", "channels", "nominal_kbps", "bit_source", "frame_rate", "codebooks", "codebook_size",
    "codebook_sizes", "settings",
)  # fmt: skip
"""Fields of a card that must be as submitted, with the hash of the weights. Words and versions of libraries may not."""


class PrivateRunFailed(PipelineError):
    """A private run without rows; the text is one of a few sentences and names neither clip nor path."""


def private_rows(
    card: Card,
    spec: str,
    *,
    salt: str,
    committed: str,
    scratch: Path,
    categories: Sequence[Category],
    options: CodecOptions = DEFAULT_OPTIONS,
    device: Device = "auto",
    timeout: float | None = None,
    executor: Executor | None = None,
) -> list[ClipRow]:
    """Run the codec that ``card`` names on the dataset ``spec``; score it by the overall score of ``categories``.

    Everything that is written lies in a folder below ``scratch`` that is gone afterwards. A failed clip is a failed
    row. Raises PrivateRunFailed, also where the dataset is not the one that was ``committed`` to with ``salt``, and
    where the codec of this name has other settings or weights here than the card says.
    """
    try:
        with ExitStack() as stack:
            stack.enter_context(unreadable_for_others())
            folder = stack.enter_context(scratch_folder(scratch))
            if commitment(salt, open_dataset(spec).manifest_hash) != committed:
                kind = "the dataset is not the one that was committed to"
            else:
                pool = executor or stack.enter_context(Executor(timeout=timeout))
                (made,) = resynthesise([card.name], [spec], out=folder, device=device, options=options, executor=pool)
                if _run_alike(RunFolder(made.path).info().card, card):
                    metrics = list(dict.fromkeys(key for each in categories for key in overall_metrics(each)))
                    score([folder], metrics=metrics, executor=pool)
                    return list(RunFolder(made.path).rows())
                kind = "the codec of this name has other settings or weights here than the submission's card"
    except Exception as error:  # noqa: BLE001 - whatever it is, its text must go no further
        kind = kind_of(error)
    # outside of the block: an error raised inside would carry the first one with it, into any log
    raise PrivateRunFailed(kind)


def _run_alike(here: Card, submitted: Card) -> bool:
    weights = [card.weights and (card.weights.sha256, card.weights.config_sha256) for card in (here, submitted)]
    return weights[0] == weights[1] and all(getattr(here, name) == getattr(submitted, name) for name in _RUN_ALIKE)


def kind_of(error: Exception) -> str:
    """Say what kind of error it is, without a word of its text."""
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
