"""Make torchaudio importable beside a torch without CUDA: remove its compiled libraries, which need CUDA's run time.

Does nothing where torchaudio imports already. The reference composition uses none of the compiled parts.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path


def _imports() -> bool:
    return subprocess.run([sys.executable, "-c", "import torchaudio"], capture_output=True, check=False).returncode == 0


def main() -> int:
    """Remove the libraries that cannot be loaded; return 0 when torchaudio imports in the end."""
    specification = importlib.util.find_spec("torchaudio")
    if specification is None or specification.origin is None:
        print("torchaudio is not installed: pip install --no-deps -r perf/requirements-no-deps.txt")
        return 1
    if not _imports():
        for library in (Path(specification.origin).parent / "lib").glob("*.so"):
            library.unlink()
    return 0 if _imports() else 1


if __name__ == "__main__":
    sys.exit(main())
