"""The house stays one in which a room is found by its name: how many modules a folder holds, and how long a file is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("data_manifests", "base_codec", "metrics", "applications", "pipeline", "server", "web", "cli", "api")
CATALOGUES = {
    "cli/commands": "one module a command",
    "data_manifests/indexers": "one module a publisher",
    "base_codec/families": "one module a library",
    "base_codec/isolation/guests": "one module a package",
    "tests/base_codec/isolated_families/families": "one module a package",
}
MOST_MODULES = 20
MOST_LINES = 400


def modules(part: str) -> list[Path]:
    """List the modules of a part but ``__init__``, as paths below the repository's root."""
    return [path.relative_to(ROOT) for path in (ROOT / part).rglob("*.py") if path.name != "__init__.py"]


@pytest.mark.parametrize("part", [*PARTS, "perf", "tests"])
def test_a_folder_holds_at_most_twenty_modules(part: str) -> None:
    """Whoever opens a folder sees all of it; only catalogues, which are read by name, may be longer."""
    counts = Counter(path.parent.as_posix() for path in modules(part))
    assert counts, part
    assert not {place: n for place, n in counts.items() if n > MOST_MODULES and place not in CATALOGUES}


@pytest.mark.parametrize("part", [*PARTS, "perf", "tests"])
def test_a_file_has_at_most_four_hundred_lines(part: str) -> None:
    """A file that is longer holds two things."""
    lengths = {str(path): len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in modules(part)}
    assert not {path: n for path, n in lengths.items() if n > MOST_LINES}


def test_every_folder_says_what_it_is_for() -> None:
    """The first line of a package is a sentence about it."""
    silent = [
        path.relative_to(ROOT).as_posix()
        for part in PARTS
        for path in (ROOT / part).rglob("__init__.py")
        if not path.read_text(encoding="utf-8").startswith('"""')
    ]
    assert not silent
