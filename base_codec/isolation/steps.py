"""Run one program of the build of a private environment, and report its failure."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from codec_superb.base_codec.isolation.errors import EnvironmentFailed
from codec_superb.base_codec.isolation.lock import Lock, current_platform

TAIL_LINES = 12
_NOT_INHERITED = {"PYTHONPATH", "PYTHONHOME", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"}
"""Variables of another Python, and those that git sets for hooks, which would redirect git to another repository."""


def run_step(command: Sequence[str], lock: Lock, variables: Mapping[str, str]) -> str:
    """Run one step and return what it printed.

    Raises EnvironmentFailed with the end of its output and what to do, unless it ends with 0.
    """
    inherited = {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**inherited, **variables},
        close_fds=False,  # the installer inherits the flock of the folder and holds it if this process is killed
        check=False,
    )
    said = done.stdout.decode(errors="replace").strip()
    if done.returncode:
        program = Path(command[0]).name
        tail = "\n".join(said.splitlines()[-TAIL_LINES:])
        raise EnvironmentFailed(
            f"the environment of {lock.name} cannot be built ({program} ended with {done.returncode}):\n"
            f"{tail}\n{_advice(lock, program)}"
        )
    return said


def _advice(lock: Lock, program: str) -> str:
    """Say what to do next."""
    if not lock.fits_here:
        here = current_platform()
        return f"its packages are locked for {lock.platform}, this machine is {here}: run it on such a machine"
    whose = "git's configuration (git config --list)" if program == "git" else "pip's configuration (pip config list)"
    return f"check the connection and {whose}, then run `codec-superb codecs env build {lock.name}` again"
