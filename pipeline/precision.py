"""Measure the effect of lower precision and ``torch.compile`` on scores, tokens and speed of a neural codec.

Each variant is an ordinary run below ``<out>/<variant>/`` that also stores its tokens; ``float32`` is the baseline.
Differences are variant minus float32, on the clips that both have, by :mod:`~codec_superb.pipeline.comparison.codecs`.
Finished clips are not computed again, so an interrupted call can be resumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self, get_args

import numpy as np
from pydantic import FiniteFloat

from codec_superb.base_codec.options import CodecOptions, Dtype
from codec_superb.base_codec.registry import card as card_of
from codec_superb.base_codec.weights import takes_options
from codec_superb.data_manifests import Category
from codec_superb.metrics.plugged import find_metrics
from codec_superb.pipeline.comparison.codecs import ComparisonReport, compare_results
from codec_superb.pipeline.comparison.results import Results, combine, load_results
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import open_run
from codec_superb.pipeline.runs.info import Provenance
from codec_superb.pipeline.runs.outcome import RunOutcome
from codec_superb.pipeline.runs.token_store import read_tokens
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.workers.devices import Device
from codec_superb.pipeline.workers.executor import Executor
from codec_superb.pipeline.workers.progress import Progress
from codec_superb.record import Record

COMPILE = "compile"
DEFAULT_VARIANTS = ("bfloat16", "float16")


class Variant(NamedTuple):
    """A precision, compiled or not."""

    dtype: Dtype = "float32"
    compile: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``bfloat16``, ``compile`` or ``bfloat16+compile``. Raises PipelineError for anything else."""
        parts = text.split("+")
        dtypes = [dtype for dtype in get_args(Dtype) if dtype in parts]
        if len(dtypes) > 1 or sorted(parts) != sorted([*dtypes, *([COMPILE] if COMPILE in parts else [])]):
            names = ", ".join(name for name in get_args(Dtype) if name != "float32")
            raise PipelineError(f"expected a variant such as {names}, {COMPILE} or bfloat16+{COMPILE}, got {text!r}")
        return cls(dtypes[0] if dtypes else "float32", COMPILE in parts)

    @property
    def name(self) -> str:
        """Name of its folder: ``float32``, ``bfloat16``, ``float32+compile``."""
        return f"{self.dtype}+{COMPILE}" if self.compile else self.dtype


class VariantFailure(Record):
    """A clip without a resynthesis, or with a failed metric."""

    dataset: str
    clip: str
    stage: str
    reason: str


class EqualTokens(Record):
    """Agreement of a variant's tokens with those of float32."""

    clips: int
    """Clips that both have."""
    clips_equal: int
    """Clips of which every token is equal."""
    tokens: int
    """Tokens of these clips, over all codebooks."""
    equal: FiniteFloat
    """Fraction of equal tokens, 0 to 1."""
    by_codebook: tuple[FiniteFloat, ...]
    """The same fraction for each codebook, in order."""


class Speed(Record):
    """Measured seconds of encoding and decoding on the clips that both have."""

    clips: int
    float32_s: FiniteFloat
    variant_s: FiniteFloat
    """Includes the time of compilation, during the first clips."""
    ratio: FiniteFloat
    """Seconds of float32 over those of the variant: above 1 the variant is faster."""
    median_ratio: FiniteFloat
    """Median of that ratio over the clips, robust against single slow clips."""


class VariantReport(Record):
    """Comparison of one variant with float32."""

    variant: str
    failed: tuple[VariantFailure, ...]
    comparison: ComparisonReport | None
    """First is the variant, second float32; None where no clip has both."""
    tokens: EqualTokens | None
    """None where no clip has both."""
    speed: Speed | None
    """None where no clip has both, or where machine, device, packages or batches of the two differ."""
    left_out: tuple[str, ...] = ()
    """Reasons for missing parts."""


class PrecisionReport(Record):
    """All variants of a codec."""

    codec: str
    weights: str
    """Source of the weights; ``random`` marks untrained weights, whose results are only good for tests."""
    device: str
    processor: str
    failed: tuple[VariantFailure, ...]
    """Failures in float32."""
    variants: tuple[VariantReport, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing failed."""
        return not self.failed and not any(variant.failed for variant in self.variants)


class _Made(NamedTuple):
    """The runs of one variant."""

    results: Results
    failed: tuple[VariantFailure, ...]


def measure_precision(
    codec: str,
    variants: Sequence[Variant],
    datasets: Sequence[str],
    *,
    out: Path,
    weights: str | None = None,
    device: Device = "auto",
    batch: float | None = None,
    metrics: Sequence[str] | None = None,
    executor: Executor | None = None,
    limit: int | None = None,
    overwrite: bool = False,
    category: Category | None = None,
    progress: Progress | None = None,
) -> PrecisionReport:
    """Run ``codec`` in float32 and in each of ``variants`` on ``datasets``, score the runs, and compare them.

    The options are those of :func:`~codec_superb.pipeline.resynthesis.stage.resynthesise` and
    :func:`~codec_superb.pipeline.scoring.stage.score`. Raises PipelineError for a codec without a precision to choose
    and for a variant that is float32 itself, and what those two raise.
    """
    if not takes_options(card_of(codec)):
        raise PipelineError(f"{codec} computes in one way only: name a neural codec of the main environment")
    if Variant() in variants:
        raise PipelineError("float32 is what every variant is compared with: name others")
    find_metrics(metrics or ())
    made: dict[Variant, _Made] = {}
    with executor or Executor() as pool:
        for variant in dict.fromkeys([Variant(), *variants]):
            place, options = Path(out) / variant.name, CodecOptions(weights, *variant)
            outcomes = resynthesise(
                [codec], datasets, out=place, device=device, options=options, batch=batch, tokens=True, limit=limit,
                overwrite=overwrite, category=category, progress=progress, executor=pool,
            )  # fmt: skip
            runs = [outcome.path for outcome in outcomes]
            outcomes += score(runs, metrics=metrics, overwrite=overwrite, progress=progress, executor=pool)
            (results,) = combine(load_results(run) for run in runs)
            made[variant] = _Made(results, _failures(outcomes))
    usual = made.pop(Variant())
    reports = tuple(_report(variant, its, usual.results) for variant, its in made.items())
    stamp = _stamps(usual.results)[-1]
    source = usual.results.card.weights.source if usual.results.card.weights else ""
    return PrecisionReport(
        codec=usual.results.card.name, weights=source, device=stamp.device, processor=stamp.processor,
        failed=usual.failed, variants=reports,
    )  # fmt: skip


def _failures(outcomes: Sequence[RunOutcome]) -> tuple[VariantFailure, ...]:
    """Return the failures without repetitions: scoring reports clips without a resynthesis again."""
    found = {
        VariantFailure(dataset=outcome.dataset, clip=failed.clip, stage=failed.stage, reason=failed.reason): None
        for outcome in outcomes
        for failed in outcome.failed
    }
    return tuple(found)


def _report(variant: Variant, made: _Made, usual: Results) -> VariantReport:
    pairs = _pairs(made.results, usual)
    if not pairs:
        reason = "no clip has a resynthesis in both: there is nothing to compare"
        return VariantReport(
            variant=variant.name, failed=made.failed, comparison=None, tokens=None, speed=None, left_out=(reason,)
        )
    apart = _other_circumstances([*_stamps(made.results), *_stamps(usual)])
    return VariantReport(
        variant=variant.name,
        failed=made.failed,
        comparison=compare_results(made.results, usual, tests=True),
        tokens=_equal_tokens(pairs, made.results, usual),
        speed=None if apart else _speed(pairs),
        left_out=(apart,) if apart else (),
    )


def _pairs(one: Results, two: Results) -> list[tuple[ClipRow, ClipRow]]:
    """Return the rows of the clips that both have, variant first."""
    known = {(row.dataset, row.clip): row for row in two.rows if row.status == "ok"}
    return [
        (row, known[row.dataset, row.clip])
        for row in one.rows
        if row.status == "ok" and (row.dataset, row.clip) in known
    ]


def _stamps(results: Results) -> list[Provenance]:
    """Return the provenance of resynthesis."""
    return [stamp for dataset in results.datasets for stamp in dataset.provenance if stamp.stage == "resynth"]


def _other_circumstances(stamps: Sequence[Provenance]) -> str:
    """Return why times cannot be compared; '' where all were measured in the same circumstances."""
    for field in ("processor", "platform", "device", "batch_seconds", "packages"):
        found = {str(getattr(stamp, field)) for stamp in stamps}
        if len(found) > 1:
            return f"speed: the runs differ in {field}; call it with --overwrite to measure all of them here"
    return ""


def _speed(pairs: Sequence[tuple[ClipRow, ClipRow]]) -> Speed:
    taken = np.array([[(row.encode_s or 0) + (row.decode_s or 0) for row in pair] for pair in pairs])
    taken = np.maximum(taken, 1e-9)  # a coarse clock may measure 0 s
    variant, usual = taken.sum(axis=0)
    return Speed(
        clips=len(pairs),
        float32_s=float(usual),
        variant_s=float(variant),
        ratio=float(usual / variant),
        # the first clip of a worker pays for starting up or for compiling, which the median leaves out
        median_ratio=float(np.median(taken[:, 1] / taken[:, 0])),
    )


def _equal_tokens(pairs: Sequence[tuple[ClipRow, ClipRow]], one: Results, two: Results) -> EqualTokens:
    """Compare the tokens of the runs, clip by clip."""
    folders = [{its.info.name: open_run(its.source) for its in results.datasets} for results in (one, two)]
    equal = np.zeros(one.card.codebooks or 0, dtype=np.int64)
    frames = whole = 0
    for row, _ in pairs:
        first, second = (read_tokens(runs[row.dataset].tokens_path(row.clip)) for runs in folders)
        same = first == second
        equal += same.sum(axis=1)
        frames += first.shape[1]
        whole += bool(same.all())
    return EqualTokens(
        clips=len(pairs),
        clips_equal=whole,
        tokens=frames * len(equal),
        equal=float(equal.sum() / (frames * len(equal))),
        by_codebook=tuple(float(share) for share in equal / frames),
    )
