"""The compiled loops need no place on disk, and run beside each other."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.metrics import coded, speech

from codec_superb.metrics import compiled as module
from codec_superb.metrics.compiled import can_be_cached, compiled, is_cached
from codec_superb.metrics.score import prepare, score_pair
from codec_superb.metrics.table import METRICS


def test_loops_compile_where_nothing_can_be_kept() -> None:
    """Code for which there is no cache folder is compiled in memory instead of refused."""
    namespace: dict[str, Any] = {}
    exec("def twice(x):\n    return 2.0 * x", namespace)
    twice = compiled()(namespace["twice"])
    assert twice(21.0) == 42.0
    assert not can_be_cached(twice)
    assert not is_cached(twice)


def test_threads_get_the_same_values() -> None:
    """Pairs scored in four threads, on one prepared reference, give bit for bit what one thread gives."""
    x = speech(seconds=1.0)
    others = [coded(x, 16_000, seed=seed) for seed in range(4)]
    expected = [score_pair(x, y, 16_000, list(METRICS)) for y in others]
    reference = prepare(x, 16_000)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda y: score_pair(reference, y, 16_000, list(METRICS)), others))
    assert found == expected


@pytest.mark.sample(1, among="compiled loops are replaced")
def test_kept_code_follows_the_functions_it_calls(tmp_path: Path) -> None:
    """A change in another file of the part is noticed, though numba looks at the caller's file only."""
    part = tmp_path / "part"
    part.mkdir()
    (part / "__init__.py").touch()
    (part / "compiled.py").write_text(Path(module.__file__).read_text())
    (part / "outer.py").write_text(
        "from part.compiled import compiled\nfrom part.inner import inner\n"
        "@compiled()\ndef outer(x):\n    return inner(x) + 1.0\n"
    )
    found = []
    for factor in ("2.0", "2.0", "3.0"):
        (part / "inner.py").write_text(
            f"from part.compiled import compiled\n@compiled()\ndef inner(x):\n    return {factor} * x\n"
        )
        program = "from part.outer import outer; print(outer(10.0), sum(outer.stats.cache_hits.values()))"
        # -B: Python's own kept code is fresh for it when size and second of the change are the same, as they are here.
        command = [sys.executable, "-B", "-c", program]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        found.append(done.stdout.split())
    assert found == [["21.0", "0"], ["21.0", "1"], ["31.0", "0"]]


@pytest.mark.sample(1, among="compiled loops are replaced")
def test_code_of_another_version_is_compiled_anew(tmp_path: Path) -> None:
    """An index that names a class which an update renamed is stale, not an error."""
    part = tmp_path / "part"
    part.mkdir()
    (part / "__init__.py").touch()
    (part / "compiled.py").write_text(Path(module.__file__).read_text())
    for name in ("Pair", "Two"):
        (part / "outer.py").write_text(
            "from typing import NamedTuple\nfrom part.compiled import compiled\n"
            f"class {name}(NamedTuple):\n    a: float\n    b: float\n"
            f"@compiled()\ndef outer(x):\n    return x.a + x.b\nmake = {name}\n"
        )
        program = "from part.outer import make, outer; print(outer(make(1.0, 2.0)))"
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.stdout, done.stderr) == ("3.0\n", "")
