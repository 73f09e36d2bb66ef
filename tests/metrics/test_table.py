"""The metric table is complete, light to import, and says what METRICS says."""

from __future__ import annotations

import dataclasses
import inspect
import math
import subprocess
import sys

import pytest

from codec_superb import data_manifests
from codec_superb.metrics.errors import UnknownMetric
from codec_superb.metrics.plugged import find_metrics
from codec_superb.metrics.score import metric_function
from codec_superb.metrics.table import (
    CATEGORIES,
    METRICS,
    REFERENCE_BACKEND,
    Category,
    metric,
    metrics_for,
    overall_metrics,
)
from codec_superb.plugins import Source

PUBLISHED = {"stft", "mel", "pesq", "pesq_c2", "stoi", "estoi", "f0corr", "f0corr_praat", "si_sdr", "sdr"}
"""What the paper, its tables and its corrigenda name: none of these keys may go or change its meaning."""


def test_the_table_has_the_published_metrics_and_the_corrected_pesq() -> None:
    """The keys of the published definitions are there, each row under its own key; others may stand beside them."""
    assert set(METRICS) >= PUBLISHED
    assert all(key == row.key for key, row in METRICS.items())


def test_categories_are_those_of_the_datasets() -> None:
    """Metrics and datasets may not import each other, and still know the same categories in the same order."""
    assert CATEGORIES == data_manifests.CATEGORIES


@pytest.mark.parametrize("key", METRICS)
def test_every_row_is_complete(key: str) -> None:
    """Each row has a label, a version, a sentence, a paper, and a range that is not empty."""
    row = METRICS[key]
    assert row.label
    assert row.version
    assert row.definition.endswith(".")
    assert any(character.isdigit() for character in row.paper), "a paper has a year"
    assert row.minimum < row.maximum
    assert (row.best > row.worst) == row.higher_is_better
    assert row.minimum <= row.best <= row.maximum
    assert math.isfinite(row.best)
    assert row.tolerance > 0
    assert not row.origin
    assert set(row.overall) <= set(row.categories)


@pytest.mark.parametrize(
    ("key", "backend"),
    [(key, name) for key, row in METRICS.items() for name in (REFERENCE_BACKEND, *dict(row.backends))],
)
def test_every_target_is_a_documented_function_of_a_pair(key: str, backend: str) -> None:
    """Each target imports, takes reference, resynthesis and rate, and documents range, errors and a worked number."""
    function = metric_function(key, backend)
    assert list(inspect.signature(function).parameters) == ["reference", "resynthesis", "rate"]
    text = inspect.getdoc(function) or ""
    assert "Undefined" in text or "As :func:" in text
    assert "Worked number" in text or "As :func:" in text


@pytest.mark.parametrize(
    ("category", "keys"),
    [
        ("speech", {"stft", "mel", "pesq", "stoi"}),
        ("audio", {"stft", "mel"}),
        ("music", {"stft", "mel", "pesq", "stoi", "f0corr"}),
    ],
)
def test_the_overall_score_of_each_category_takes_its_metrics(category: Category, keys: set[str]) -> None:
    """The metrics of each category's overall score are the published ones, and all of them are computed by default."""
    assert set(overall_metrics(category)) == keys
    assert keys <= set(metrics_for(category))


def test_voice_metrics_are_not_computed_on_environmental_sound() -> None:
    """On the category audio those of the published metrics that need a voice are not computed by default."""
    voiced = {"pesq", "stoi", "estoi", "f0corr"}
    assert set(metrics_for("audio")) & PUBLISHED == {"stft", "mel", "si_sdr", "sdr"}
    assert set(metrics_for("speech")) - set(metrics_for("audio")) >= voiced
    assert set(metrics_for("speech")) >= set(overall_metrics("speech"))


def test_no_default_metric_needs_an_extra() -> None:
    """What runs when nobody chooses works with the core install; variants of one measure wait to be asked for."""
    assert not any(row.extra for row in METRICS.values() if row.default)
    assert not any(METRICS[key].default for key in ("pesq_c2", "f0corr_praat"))


def test_an_unknown_key_answers_with_near_matches() -> None:
    """A misspelt key names the metric that was probably meant and all that exist."""
    with pytest.raises(UnknownMetric, match=r"'pesk'.*Did you mean pesq.*si_sdr"):
        metric("pesk")
    with pytest.raises(UnknownMetric):
        find_metrics(["mel", "nothing"])


def test_keys_keep_their_order_without_repetitions() -> None:
    """A key asked for twice is computed once, at its first place."""
    assert [row.key for row in find_metrics(["stoi", "mel", "stoi"])] == ["stoi", "mel"]


def test_the_table_imports_no_heavy_package() -> None:
    """Reading the table and the overall score loads neither scipy nor a metric package nor the compiler."""
    code = (
        "import sys, codec_superb.metrics.table, codec_superb.metrics.overall; "
        "print([m for m in ('scipy', 'numba', 'pesq', 'pyworld', 'soxr', 'parselmouth', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_plug_in_has_no_part_in_defaults_and_rankings() -> None:
    """Whatever its row claims; its version and its targets tell where it comes from."""
    row = dataclasses.replace(METRICS["pesq"], key="mine", target=":own", backends=(("other", ":second"),))
    assert row.default
    assert row.overall
    plugged = row.plugged(Source("a file", "mine.py", "c0ffee", "0" * 64))
    assert (plugged.default, plugged.overall) == (False, ())
    assert (plugged.target, plugged.backends) == ("mine.py:own", (("other", "mine.py:second"),))
    assert (plugged.version, plugged.origin, plugged.sha256) == (f"{row.version}+c0ffee", "a file", "0" * 64)
