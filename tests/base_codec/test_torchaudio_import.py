"""torchaudio beside any torch: each case in a process of its own, since an import cannot be undone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_USE = """
import numpy, torch, torchaudio
noise = torch.randn(1, 16000, generator=torch.Generator().manual_seed(0))
assert torchaudio.compliance.kaldi.fbank(noise, num_mel_bins=40).shape == (98, 40)
assert torchaudio.transforms.MelSpectrogram(16000, n_mels=40)(noise).shape == (1, 40, 81)
assert torchaudio.functional.resample(noise, 16000, 8000).shape == (1, 8000)
"""


def _run(code: str, path: Path | None = None) -> str:
    before = f"import sys; sys.path.insert(0, {str(path)!r})\n" if path else ""
    done = subprocess.run([sys.executable, "-c", before + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _copy(folder: Path, loader: str) -> Path:
    """Return a folder with a package like the installed one; ``loader`` is what it does before it loads a library."""
    import importlib.util

    spec = importlib.util.find_spec("torchaudio")
    assert spec is not None
    assert spec.origin is not None
    installed = Path(spec.origin).parent
    package = folder / "torchaudio"
    package.mkdir()
    for part in installed.iterdir():
        if part.name != "_extension":
            (package / part.name).symlink_to(part)
    (package / "_extension").mkdir()
    for file in (installed / "_extension").glob("*.py"):
        text = file.read_text(encoding="utf-8")
        if file.name == "utils.py":
            text = text.replace("    suffix =", f"    {loader}\n    suffix =")
            assert loader in text
        (package / "_extension" / file.name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.sample(1, among="torchaudio beside torch")
def test_imports_with_what_is_installed_here() -> None:
    """Whatever build is installed, what is written in Python works, and asking twice is no trouble."""
    code = "from codec_superb.base_codec.torchaudio_import import import_torchaudio as go\nassert go() == go()\n"
    _run(code + _USE)


@pytest.mark.sample(1, among="torch in other processes")
def test_what_needs_it_imports_after_it() -> None:
    """SpeechBrain's ECAPA-TDNN and transformers' features for AST load and run."""
    code = """
from codec_superb.applications.asv.speechbrain_ecapa import import_speechbrain
import_speechbrain()
import sys, numpy
from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN
from transformers import ASTFeatureExtractor
features = ASTFeatureExtractor()(numpy.ones(16000, numpy.float32), sampling_rate=16000)
assert features.input_values[0].shape == (1024, 128)
for module in list(sys.modules.values()):
    getattr(module, "whatever", None)  # a redirection of an old name would fail here
"""
    _run(code)


@pytest.mark.sample(1, among="torchaudio beside torch")
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "loader",
    [
        'raise OSError("libc10_cuda.so: cannot open shared object file")',
        'raise RuntimeError("compiled with different CUDA versions")',
        'raise ImportError("Failed to load libtorchaudio")',
    ],
)
def test_libraries_that_do_not_fit_are_done_without(tmp_path: Path, loader: str) -> None:
    """Missing libraries of CUDA, and a build for another CUDA, cost only the libraries; no file is changed."""
    path = _copy(tmp_path, f"if _LIB_DIR.is_dir(): {loader}")
    before = sorted((file, file.stat().st_mtime_ns) for file in tmp_path.rglob("*.py"))
    code = "from codec_superb.base_codec.torchaudio_import import import_torchaudio\nprint(import_torchaudio())\n"
    assert _run(code + _USE + "assert torchaudio.__file__.startswith(sys.path[0])", path) == "False"
    assert sorted((file, file.stat().st_mtime_ns) for file in tmp_path.rglob("*.py")) == before


@pytest.mark.sample(1, among="torchaudio beside torch")
def test_an_import_that_works_is_left_alone(tmp_path: Path) -> None:
    """Where the libraries can go, the modules are those that a plain import makes."""
    path = _copy(tmp_path, "return False")
    code = """
import torchaudio
known = {name: module for name, module in sys.modules.items() if name.startswith("torchaudio")}
from codec_superb.base_codec.torchaudio_import import import_torchaudio
import_torchaudio()
assert known == {name: module for name, module in sys.modules.items() if name.startswith("torchaudio")}
"""
    _run(code, path)


_SAY = """
from codec_superb.base_codec.errors import MissingDependency
from codec_superb.base_codec.torchaudio_import import import_torchaudio
try:
    import_torchaudio()
except MissingDependency as error:
    print(error)
"""


@pytest.mark.sample(1, among="torchaudio beside torch")
def test_what_cannot_be_mended_is_said(tmp_path: Path) -> None:
    """A torchaudio that fails for another reason, or is not there, is named with what to install."""
    broken = _run(_SAY, _copy(tmp_path, 'raise OSError("the disk is gone")'))
    assert broken.startswith(
        "torchaudio cannot be imported beside this torch: the disk is gone\ninstall the torchaudio"
    )
    absent = _run("import sys; sys.modules['torchaudio'] = None" + _SAY)
    assert absent == "this model needs torchaudio, which is not installed: pip install 'codec-superb[applications]'"


@pytest.mark.sample(1, among="torchaudio beside torch")
def test_codecs_of_transformers_load_beside_it() -> None:
    """Models that take torchaudio along import after it is mended; where it is not installed nothing is asked for."""
    code = """
from codec_superb.base_codec.torchaudio_import import mend_torchaudio
mend_torchaudio()
from transformers import EncodecModel, MimiModel
"""
    _run(code)
    without = "import importlib.util\nimportlib.util.find_spec = lambda _: None\n" + code.replace("from transf", "#")
    _run(without + "import sys\nassert 'torchaudio' not in sys.modules")
