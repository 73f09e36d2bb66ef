"""Checks of the numbers that follow from the rows: counts and aggregates are computed again and compared."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from codec_superb.applications.probe import SIDES
from codec_superb.applications.results import ApplicationAggregate
from codec_superb.applications.table import COMPOSITES, PROBE_METRICS, PROBES
from codec_superb.metrics.errors import MetricError
from codec_superb.metrics.table import METRICS
from codec_superb.pipeline.aggregates.metrics import Aggregates, aggregate
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.statistics.jackknife import METHOD
from codec_superb.pipeline.submission.check_rows import check_scored
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.schema import SUBMISSION_NAME, Submission, SubmittedDataset
from codec_superb.pipeline.tables.rows import KeptRow
from codec_superb.pipeline.tables.stored_rows import StoredRows

# far above what summing in another order does (1e-15), far below any difference that is shown
TOLERANCE = 1e-9
"""Relative: sums may be taken in another order by another processor."""
SET_TOLERANCE = 1e-6
"""Relative and absolute, of distances of sets: they are small differences of large sums over all frames."""
_OF_METHOD = frozenset({"low", "high", "clusters"})
"""What the kind of interval decides."""
_AGAIN = "pack the runs again with this version; numbers are not edited by hand"


def counts_of(rows: StoredRows) -> dict[str, int]:
    """Clips of one dataset that are ok, failed, or ok with an undefined metric."""
    ok = rows.where("status", {"ok"})
    undefined = np.zeros(len(ok), np.bool_)
    for key in rows.metrics:
        undefined |= ok.equals(f"{key}_status", "undefined")
    return {"ok": len(ok), "failed": len(rows) - len(ok), "undefined": int(undefined.sum())}


def check_counts(rows: StoredRows, submission: Submission, findings: Findings) -> None:
    """Compare the counts of each dataset with its rows, and look whether each of them has the same metrics."""
    known = Counter(dataset.name for dataset in submission.datasets)
    for name in dict.fromkeys([*known, *rows.unique("dataset")]):
        if known[name] != 1:
            findings.add(f"{SUBMISSION_NAME}: datasets", f"one entry for {name!r}, which has rows", known[name], _AGAIN)
    for position, dataset in enumerate(submission.datasets):
        its = rows.where("dataset", {dataset.name})
        _check_dataset(dataset, its, f"{SUBMISSION_NAME}: datasets.{position}", findings)
        check_scored(dataset.name, its, findings)


def _check_dataset(dataset: SubmittedDataset, rows: StoredRows, where: str, findings: Findings) -> None:
    expected = {"selected": len(rows), **counts_of(rows)}
    for name, count in expected.items():
        if getattr(dataset, name) != count:
            findings.add(f"{where}.{name}", f"{count}, counted in the rows", getattr(dataset, name), _AGAIN)
    if dataset.selected > dataset.clips:
        findings.add(f"{where}.clips", f"at least the {dataset.selected} selected", dataset.clips, _AGAIN)
    if dataset.ok == 0:
        findings.note(f"{dataset.name}: no clip has a resynthesis")


def check_metrics(submission: Submission, findings: Findings) -> None:
    """Compare metric versions with the table of this version; a metric of a plug-in must be described in the file."""
    for key, version in submission.metrics.items():
        where = f"{SUBMISSION_NAME}: metrics.{key}"
        if key in submission.custom_metrics:
            found = submission.custom_metrics[key]
            findings.note(f"{key}: a custom metric ({found.label}, {version}, of {found.origin}): shown, never ranked")
        elif key not in METRICS:
            expected = f"a metric of the table ({', '.join(sorted(METRICS))}), or one that custom_metrics describes"
            findings.add(where, expected, key, "score with this version")
        elif version != METRICS[key].version:
            expected = f"version {METRICS[key].version} of the definition"
            findings.add(where, expected, version, "run score again with this version, then pack")
    for key in submission.custom_metrics:
        where = f"{SUBMISSION_NAME}: custom_metrics.{key}"
        if key in METRICS:
            findings.add(where, "a key that the benchmark's table does not have", key, "rename the metric, score again")
        elif key not in submission.metrics:
            findings.add(where, "a metric of the file", f"{key}, which metrics lacks", _AGAIN)


def check_aggregates(
    rows: StoredRows, submission: Submission, findings: Findings, pairs: Sequence[KeptRow] = ()
) -> Aggregates | None:
    """Recompute every aggregate, compare it number by number, and return what was computed."""
    clips = {dataset.name: dataset.clips for dataset in submission.datasets}
    try:
        computed = aggregate(
            rows,
            metrics=sorted(submission.metrics),
            expected=clips,
            pairs=pairs,
            backends={(d.name, info.probe): info.backend for d in submission.datasets for info in d.probes},
        )
    except (PipelineError, MetricError, ArithmeticError, ValueError) as error:
        findings.add("clips.parquet", "rows that can be aggregated", error, _AGAIN)
        return None
    slack = _Slack()
    if submission.bootstrap.method != METHOD:
        slack = _Slack(_OF_METHOD)
        findings.note(f"intervals are those of {METHOD}; the file has those of {submission.bootstrap.method}")
    where = f"{SUBMISSION_NAME}: aggregates"
    _compare(computed.model_dump(), submission.aggregates.model_dump(), where, findings, slack)
    check_figures(computed.applications, findings)
    return computed


def check_figures(figures: Sequence[ApplicationAggregate], findings: Findings) -> None:
    """Check that figures of applications are such as can be measured: their rows may fit each other and be invented."""
    for position, entry in enumerate(figures):
        least, most = (PROBE_METRICS.get(entry.figure) or COMPOSITES[entry.figure]).admitted
        for side in SIDES:
            value = getattr(entry, side).value
            slack = TOLERANCE * max(1.0, abs(least), abs(most))
            if value is not None and not least - slack <= value <= most + slack:
                where = f"{SUBMISSION_NAME}: aggregates.applications.{position}.{side}"
                expected = f"{entry.figure} between {least:.6g} and {most:.6g}, beyond which nothing is measured"
                findings.add(
                    where, expected, f"{value:.6g}", "probe the runs again, and look at what the model answers"
                )


class _Slack(NamedTuple):
    """What a comparison leaves aside, and how far two numbers may be apart."""

    names: frozenset[str] = frozenset()
    relative: float = TOLERANCE
    absolute: float = 1e-12

    def of(self, entry: Any) -> _Slack:
        """Return that of the parts of an entry."""
        probe = PROBES.get(str(entry.get("probe")))
        if probe is None or probe.pairs != "frames":
            return self
        return self._replace(relative=SET_TOLERANCE, absolute=SET_TOLERANCE)


def _compare(expected: Any, got: Any, where: str, findings: Findings, slack: _Slack) -> None:
    """Walk both at once within the slack; a missing or surplus entry is a problem like a wrong one."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in sorted((set(expected) | set(got)) - slack.names):
            _compare(expected.get(key), got.get(key), f"{where}.{key}", findings, slack.of(expected))
    elif isinstance(expected, tuple) and isinstance(got, tuple) and len(expected) == len(got):
        for position, (one, two) in enumerate(zip(expected, got, strict=True)):
            _compare(one, two, f"{where}.{position}", findings, slack)
    elif not _same(expected, got, slack):
        findings.add(where, f"{_shown(expected)}, recomputed from clips.parquet", _shown(got), _AGAIN)


def _same(expected: Any, got: Any, slack: _Slack) -> bool:
    if isinstance(expected, float) and isinstance(got, float):
        return math.isclose(expected, got, rel_tol=slack.relative, abs_tol=slack.absolute)
    # True == 1 in Python
    return type(expected) is type(got) and bool(expected == got)


def _shown(value: Any) -> str:
    return f"{len(value)} entries" if isinstance(value, tuple | dict) else repr(value)


def check_bitrates(submission: Submission, findings: Findings) -> None:
    """Note a measured bitrate that is far from nominal: short or easy clips cause that, so it is no error."""
    card = submission.codec
    if not card.nominal_kbps or card.nominal_tolerance is None:
        return
    for entry in submission.aggregates.datasets:
        if entry.kbps and abs(entry.kbps / card.nominal_kbps - 1) > card.nominal_tolerance:
            findings.note(
                f"{entry.dataset} ({entry.category}): {entry.kbps:.4g} kbps measured, {card.nominal_kbps:.4g} nominal, "
                f"more than {card.nominal_tolerance:.0%} apart"
            )
