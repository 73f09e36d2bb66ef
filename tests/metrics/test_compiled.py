"""The compiled loops need no place on disk, and run beside each other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from support_metrics import coded, speech

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.score import prepare, score_pair
from codec_superb.metrics.table import METRICS


def test_loops_compile_where_nothing_can_be_kept() -> None:
    """Code for which there is no cache folder is compiled in memory instead of refused."""
    namespace: dict[str, Any] = {}
    exec("def twice(x):\n    return 2.0 * x", namespace)
    assert compiled()(namespace["twice"])(21.0) == 42.0


def test_threads_get_the_same_values() -> None:
    """Pairs scored in four threads, on one prepared reference, give bit for bit what one thread gives."""
    x = speech(seconds=1.0)
    others = [coded(x, 16_000, seed=seed) for seed in range(4)]
    expected = [score_pair(x, y, 16_000, list(METRICS)) for y in others]
    reference = prepare(x, 16_000)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda y: score_pair(reference, y, 16_000, list(METRICS)), others))
    assert found == expected
