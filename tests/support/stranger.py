"""A stranger who follows a guide: a copy of the repository, the guide's code put where it says, the files counted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PARTS = (
    "api", "applications", "base_codec", "cli", "data_manifests", "docs", "metrics", "pipeline", "server", "src",
    "tests", "web",
)  # fmt: skip


def guide_blocks(name: str, language: str = "python") -> list[str]:
    """Return the code blocks of ``docs/<name>`` in one language, in their order."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def metric_file() -> str:
    """Return the guide's metric as one file, function and row."""
    function, row, _ = guide_blocks("adding-a-metric.md")
    row = row.replace("codec_superb.metrics.level:level", ":level")
    return f"{function}\n\nfrom math import inf\nfrom codec_superb.metrics.table import Metric\n\nLEVEL = {row}"


class Copy:
    """A copy of the repository that shares its files, bytecode too, until one is written."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        self.touched: set[str] = set()
        for part in PARTS:
            shutil.copytree(
                ROOT / part, folder / part, symlinks=True, copy_function=_share,
                ignore=shutil.ignore_patterns("*.pyc.*", "*.tmp.*"),  # what another process is writing just now
            )  # fmt: skip
        shutil.copy(ROOT / "pyproject.toml", folder)

    def write(self, path: str, content: str) -> None:
        """Write a file, a new one or in the place of one."""
        target = self.root / path
        target.unlink(missing_ok=True)  # it may be the repository's own
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
        self.touched.add(path)

    def insert(self, path: str, before: str, block: str) -> None:
        """Put a row into a table, indented, as its last."""
        text = (self.root / path).read_text(encoding="utf-8")
        assert text.count(before) == 1
        row = "".join(f"    {line}\n" if line else "\n" for line in block.rstrip("\n").split("\n"))
        self.write(path, text.replace(before, f"{row.rstrip()},\n{before}"))

    def test(self, *arguments: str) -> None:
        """Run tests of the copy, with nothing imported from the repository itself."""
        environment = {**os.environ, "PYTHONPATH": str(self.root / "src")}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", *arguments],
            cwd=self.root, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def _share(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
    return target
