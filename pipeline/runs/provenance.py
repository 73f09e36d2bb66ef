"""Collect the provenance of a stage: program, commit, machine, packages and command, enough to repeat it."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Literal

import codec_superb
from codec_superb.data_manifests.objects.urls import without_secrets
from codec_superb.pipeline.runs.info import Provenance
from codec_superb.pipeline.workers.package_facts import PROBE_PACKAGES, package_versions, versions_of


def stamp(
    stage: Literal["resynth", "imported", "score", "probe"],
    device: str,
    backends: Mapping[str, str] | None = None,
    batch_seconds: float = 0,
) -> Provenance:
    """Return the provenance of a stage that begins now."""
    commit, dirty = source_state()
    return Provenance(
        stage=stage,
        tool_version=codec_superb.__version__,
        commit=commit,
        dirty=dirty,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        platform=platform.platform(),
        processor=processor(),
        device=device,
        batch_seconds=batch_seconds or None,
        packages=package_versions() | (versions_of(PROBE_PACKAGES) if stage == "probe" else {}),
        backends=dict(backends or {}),
        command=shlex.join([Path(sys.argv[0]).name, *map(without_secrets, sys.argv[1:])]),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def supersede(stamps: tuple[Provenance, ...], new: Provenance) -> tuple[Provenance, ...]:
    """Add ``new``; it replaces an earlier stamp that differs only in command and time."""

    def circumstances(of: Provenance) -> dict[str, object]:
        return of.model_dump(exclude={"command", "started"})

    # a run that was resumed ten times on one machine has one stamp
    return (*(old for old in stamps if circumstances(old) != circumstances(new)), new)


@cache
def source_state() -> tuple[str | None, bool | None]:
    """Return the commit and whether files differ from it, None when the program does not run from its own checkout."""
    folder = Path(codec_superb.__file__).resolve().parent
    root = _git(folder, "rev-parse", "--show-toplevel")
    # A package installed into some other project's checkout has no commit of its own.
    if root is None or folder != Path(root).resolve() / "src" / "codec_superb":
        return None, None
    commit = _git(folder, "rev-parse", "HEAD")
    changes = _git(folder, "status", "--porcelain")
    return commit, None if changes is None else bool(changes)


def _git(folder: Path, *arguments: str) -> str | None:
    """Run git in ``folder``; None where there is no git or no repository."""
    # git status otherwise takes a lock to refresh the index, which may disturb the user's own git (git(1)).
    environment = os.environ | {"GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True, text=True, check=True, timeout=20, env=environment,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


@cache
def processor() -> str:
    """Return the model name of the processor, where the system gives it (Linux: /proc/cpuinfo)."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
