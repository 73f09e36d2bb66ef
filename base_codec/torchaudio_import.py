"""Make ``import torchaudio`` work beside a torch build that its compiled libraries do not fit.

The wheels of torchaudio on the package index are built for CUDA: beside a CPU build of torch their libraries need
``libc10_cuda.so``, which is missing, and the import of torchaudio fails, and with it that of speechbrain and of most
models of transformers, which import torchaudio wherever it is installed. The parts of it that they use (mel spectra,
Kaldi's filter banks, resampling) are written in Python and need none of these libraries; torchaudio itself works
without them where it finds no files. Where they cannot be loaded, torchaudio is therefore made to search an empty
folder. Nothing on the disk is changed, and where the import works nothing is done.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from codec_superb.base_codec.errors import MissingDependency
from codec_superb.missing_package import not_installed

_LOADER = "torchaudio._extension.utils"


def import_torchaudio() -> bool:
    """Import torchaudio, if necessary without its compiled libraries; return whether they were loaded.

    Raises MissingDependency where it is not installed, or where this version does not work without its libraries.
    """
    try:
        import torchaudio
    except ModuleNotFoundError as error:
        raise MissingDependency(not_installed("this model", error.name, extra="applications")) from error
    except (OSError, ImportError, RuntimeError) as error:  # a library is missing, or built for another CUDA
        return _import_without_libraries(error)
    return bool(torchaudio._extension._IS_TORCHAUDIO_EXT_AVAILABLE)  # noqa: SLF001 -- torchaudio says it nowhere else


def mend_torchaudio() -> None:
    """Import torchaudio where it is installed, before transformers does. Raises MissingDependency as above."""
    if importlib.util.find_spec("torchaudio") is not None:
        import_torchaudio()


def _import_without_libraries(reason: Exception) -> bool:
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchaudio"]:
        del sys.modules[name]  # left by the failed import
    try:
        _show_no_libraries()
        import torchaudio  # noqa: F401
    except Exception as error:
        raise MissingDependency(
            f"torchaudio cannot be imported beside this torch: {reason}\n"
            "install the torchaudio that was built for it, from the index that your torch came from"
        ) from error
    return False


def _show_no_libraries() -> None:
    """Load the module that finds torchaudio's libraries, and point it to a folder that does not exist."""
    package = importlib.util.find_spec("torchaudio")
    assert package is not None
    assert package.origin is not None
    file = Path(package.origin).parent / "_extension" / "utils.py"
    spec = importlib.util.spec_from_file_location(_LOADER, file)
    assert spec is not None
    assert spec.loader is not None
    loader = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loader)
    # torchaudio loads libraries from _LIB_DIR only where they exist there
    loader._LIB_DIR = file.parent / "no libraries"  # type: ignore[attr-defined]  # noqa: SLF001 -- see above
    sys.modules[_LOADER] = loader
