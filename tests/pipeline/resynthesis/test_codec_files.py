"""A codec given as a file: weights that it declares, files that it opens and modules beside it are part of the run."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from support.pipeline.runs import speech_folder

from codec_superb.base_codec import registry
from codec_superb.base_codec.errors import (
    CatalogueError,
    CodecUnusable,
    MissingDependency,
    MissingWeights,
    RefusedSetting,
)
from codec_superb.base_codec.options import CodecOptions
from codec_superb.cli.main import call
from codec_superb.files_read import modules_of, noticing
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.resynthesis.clip import ResynthTask, let_go, prepare_codec, resynthesise_clips
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.resynthesis.tokens import decode_tokens, export_tokens
from codec_superb.pipeline.runs.dataset_access import DatasetSpec
from codec_superb.pipeline.runs.folder import RunFolder

pytestmark = pytest.mark.usefixtures("fresh_workers")

SOURCE = '''
import sys
from pathlib import Path

import numpy as np

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.interface import CheckpointCodec, Codec, Packets

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


def make_card(name, **fields):
    return Card(
        name=name, family=name, title=name, version="1", kind="neural", standard="none", year=2026,
        sampling_rate=16000, channels=(1,), nominal_kbps=256, frame_rate=16000, codebooks=1, codebook_size=65536,
        causal=True, delay_samples=0, latency_ms=0.0625, licence="MIT", paper="none", homepage="https://example.org",
        **fields,
    )


class Scaled(Codec):
    """16-bit tokens, whose decoder multiplies by what was trained."""

    def gain(self):
        return self.trained

    def _encode(self, audio):
        tokens = (np.rint(audio * 32767).clip(-32768, 32767) + 32768).astype(np.int32)
        return Packets(tokens, 16 * tokens.size)

    def _decode(self, packets, channels):
        return np.float32(self.gain()) * (packets.payload.astype(np.float32) - 32768) / 32767


class Declared(CheckpointCodec, Scaled):
    card = make_card("declared")

    @classmethod
    def weights_files(cls):
        return ("ckpt.npy",)

    def load(self, device="cpu"):
        self.trained = np.load(self.folder / "ckpt.npy")
        return self


class Undeclared(Scaled):
    card = make_card("undeclared")

    def load(self, device="cpu"):
        from trained_gain import gain

        self.trained = gain() * np.load(HERE / "ckpt.npy")
        return self


class Late(Scaled):
    card = make_card("late")

    def gain(self):
        return np.load(HERE / "ckpt.npy")


class Informed(Scaled):
    card = make_card("informed", weights={"source": "somebody/model"})
'''


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """Return a folder with two clips."""
    return speech_folder(tmp_path / "clips", 2)


@pytest.fixture
def codec(tmp_path: Path) -> Path:
    """Return the file of the codecs, with a checkpoint and a module beside it."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "codec.py").write_text(SOURCE)
    (folder / "trained_gain.py").write_text("def gain():\n    return 1.0\n")
    np.save(folder / "ckpt.npy", np.float32(0.5))
    return folder / "codec.py"


def resynth(codec: str, clips: Path, capsys: pytest.CaptureFixture[str], *others: str) -> str:
    """Run the codec; return what the program says."""
    line = ["resynth", "--codec", codec, "--dataset", str(clips), "--category", "speech", "--workers", "1"]
    line += ["--device", "cpu"]  # torch is not asked, which takes two seconds in each worker
    assert call([*line, "--out", str(clips.parent / "runs"), *others]) == 0
    return capsys.readouterr().err


@pytest.mark.sample(1, among="torch in other processes")
def test_a_replaced_checkpoint_is_another_run(codec: Path, clips: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Declared weights are on the card by their hash; replaced, all is coded anew; ``--weights`` reaches the codec."""
    name = f"{codec}:Declared"
    assert "2 done now" in resynth(name, clips, capsys)
    first = RunFolder(clips.parent / "runs" / "declared" / "clips").info()
    assert "0 done now, 2 finished before" in resynth(name, clips, capsys)
    np.save(codec.with_name("ckpt.npy"), np.float32(0.25))
    told = resynth(name, clips, capsys)
    assert "the codec declared has changed (weights)" in told
    assert "2 done now" in told
    second = RunFolder(clips.parent / "runs" / "declared" / "clips").info()
    assert first.card.weights is not None
    assert second.card.weights is not None
    assert first.card.weights.source == second.card.weights.source == "local:mine"
    assert first.card.weights.sha256 != second.card.weights.sha256
    (clips.parent / "other").mkdir()
    np.save(clips.parent / "other" / "ckpt.npy", np.float32(0.125))
    assert "2 done now" in resynth(name, clips, capsys, "--weights", str(clips.parent / "other"))
    third = RunFolder(clips.parent / "runs" / "declared" / "clips").info()
    assert third.card.weights is not None
    assert third.card.weights.source == "local:other"
    assert third.codec_files == {}


@pytest.mark.sample(1, among="torch in other processes")
def test_what_is_read_beside_the_file_is_noticed(codec: Path, clips: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A checkpoint that nobody declared and a module that load imports: a change of either restarts the run."""
    name = f"{codec}:Undeclared"
    assert "2 done now" in resynth(name, clips, capsys)
    files = RunFolder(clips.parent / "runs" / "undeclared" / "clips").info().codec_files
    assert files.keys() == {"ckpt.npy", "trained_gain.py"}
    assert "0 done now, 2 finished before" in resynth(name, clips, capsys)
    np.save(codec.with_name("ckpt.npy"), np.float32(0.25))
    codec.with_name("trained_gain.py").write_text("def gain():\n    return 0.75\n")
    told = resynth(name, clips, capsys)
    assert "the codec undeclared has changed (ckpt.npy, trained_gain.py)" in told
    assert "2 done now" in told
    codec.with_name("trained_gain.py").write_text("def gain():\n    return 0.5\n")
    assert "the codec undeclared has changed (trained_gain.py)" in resynth(name, clips, capsys)


def test_a_file_that_another_worker_reads_differently_ends_the_run(codec: Path, clips: Path) -> None:
    """The checkpoint that nobody declared has the hash of the first opening; another one is named with both."""
    name = f"{codec}:Undeclared"
    (first,) = prepare_codec((name, "cpu", CodecOptions()))
    assert set(first.files) >= {"ckpt.npy"}
    let_go()
    np.save(codec.with_name("ckpt.npy"), np.float32(0.25))
    task = ResynthTask(name, "cpu", DatasetSpec(str(clips), "speech", ""), "clips", (), files=first.files)
    with pytest.raises(
        PipelineError, match=rf"one file ckpt.npy in all workers, got SHA-256 {first.files['ckpt.npy']}"
    ):
        list(resynthesise_clips(task))
    let_go()


@pytest.mark.sample(1, among="torch in other processes")
def test_what_is_opened_while_coding_is_said_once(codec: Path, clips: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A checkpoint that the decoder opens is no part of the run: one line names it, and another the lack of weights."""
    told = resynth(f"{codec}:Late", clips, capsys).splitlines()
    (line,) = [line for line in told if "ckpt.npy" in line]
    assert line == (
        "late opened ckpt.npy while coding: open it while the codec is made, or name it in weights_files(), so that a "
        "changed file restarts the run (docs/adding-a-codec.md)"
    )
    assert sum("late is neural, and no file of weights was seen" in line for line in told) == 1


def test_weights_that_cannot_be_used_are_refused(codec: Path, clips: Path, tmp_path: Path) -> None:
    """A folder without the file, and a class that takes no folder: both are said before any clip."""
    (tmp_path / "empty").mkdir()
    options = CodecOptions(weights=str(tmp_path / "empty"))
    with pytest.raises(MissingWeights, match=r"declared: expected ckpt\.npy \(its weights_files\) in .*got no ckpt"):
        resynthesise([f"{codec}:Declared"], [str(clips)], out=tmp_path / "runs", options=options, category="speech")
    with pytest.raises(RefusedSetting, match="informed: expected a class that takes --weights, got Informed"):
        resynthesise([f"{codec}:Informed"], [str(clips)], out=tmp_path / "runs", options=options, category="speech")
    with pytest.raises(RefusedSetting, match="undeclared: none takes them"):
        resynthesise([f"{codec}:Undeclared"], [str(clips)], out=tmp_path / "runs", options=options, category="speech")
    assert not (tmp_path / "runs").exists()


def test_tokens_of_a_file_say_which_option_to_give(
    codec: Path, clips: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``tokens decode`` cannot find the codec by its name: it asks for --codec, and with it the tokens are decoded."""
    file = tmp_path / "tokens.parquet"
    export_tokens(f"{codec}:Declared", str(clips), file)
    assert call(["tokens", "decode", str(file), "--out", str(tmp_path / "sound")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        f"codec-superb: {file} holds tokens of declared, which is no codec of the catalogue: name the file that it "
        "comes from with --codec path/to/file.py:Class"
    )
    assert len(decode_tokens(file, tmp_path / "sound", codec=f"{codec}:Declared").files) == 2


def test_only_files_of_the_user_that_were_there_before_are_noticed(tmp_path: Path) -> None:
    """Written files, what a program has just written, hidden ones and those of packages do not count."""
    for name in ("read.npy", ".hidden", "token", "written.txt"):
        (tmp_path / name).write_text("x")
    with noticing() as read:
        time.sleep(0.02)
        for name in ("read.npy", ".hidden", "token"):
            (tmp_path / name).read_text()
        os.close(os.open(tmp_path / "written.txt", os.O_WRONLY))
        (tmp_path / "new.txt").write_text("x")
        (tmp_path / "new.txt").read_text()
        Path(np.__file__).read_bytes()
        Path(registry.__file__).read_bytes()
    assert read == {(tmp_path / "read.npy").resolve()}


def test_modules_that_were_loaded_before_are_found_by_the_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever an import stands, and through packages and relative imports; installed packages are left out."""
    package = tmp_path / "own_tools_for_test"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "deep.py").write_text("import numpy\nfrom . import other\n")
    (package / "other.py").write_text("")
    (package / "unused.py").write_text("")
    (tmp_path / "codec.py").write_text("def load():\n    from own_tools_for_test.deep import numpy\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("own_tools_for_test.deep")
    __import__("own_tools_for_test.unused")
    assert modules_of(tmp_path / "codec.py") == {package / name for name in ("__init__.py", "deep.py", "other.py")}


def test_what_a_class_of_a_file_raises_is_told_in_one_line(tmp_path: Path) -> None:
    """Not as an error of this program: a checkpoint that cannot be read names the file and its line."""
    (tmp_path / "mine.py").write_text(
        "from support.codecs.every_codec import Delayed\n"
        "from support.codecs.cards import make_card\n"
        "class Mine(Delayed):\n"
        "    card = make_card('mine')\n"
        "    def load(self, device='cpu'):\n"
        "        raise ValueError('ckpt.npy is no array')\n"
    )
    with pytest.raises(CodecUnusable, match=r"mine.py:Mine cannot be loaded: ValueError: ckpt.npy .* \(line 6\); mend"):
        registry.open_codec(f"{tmp_path}/mine.py:Mine")


@pytest.mark.sample(1, among="torch in other processes")
def test_weights_that_cannot_be_opened_set_no_result_aside(tmp_path: Path, codec: Path, clips: Path) -> None:
    """A damaged checkpoint is told before anything is moved; with the former one all clips are finished."""
    name, out = f"{codec}:Declared", tmp_path / "runs"
    (first,) = resynthesise([name], [str(clips)], out=out, workers=1)
    whole = (codec.parent / "ckpt.npy").read_bytes()
    (codec.parent / "ckpt.npy").write_bytes(b"no array")
    with pytest.raises(CodecUnusable, match=r"codec.py:Declared cannot be loaded: .* \(line \d+\); mend it"):
        resynthesise([name], [str(clips)], out=out, workers=1)
    (codec.parent / "ckpt.npy").write_bytes(whole)
    (again,) = resynthesise([name], [str(clips)], out=out, workers=1)
    assert (first.done, again.done, again.reused) == (2, 0, 2)
    assert not [path for path in out.rglob("*") if ".old" in path.name]


def test_a_helper_beside_the_file_is_no_package_to_install(tmp_path: Path, codec: Path) -> None:
    """Python does not look beside a file that another program imports: the error says so, and what to write."""
    (codec.parent / "lone_gain.py").write_text("GAIN = 1.0\n")
    (codec.parent / "lean.py").write_text("from lone_gain import GAIN\n")
    with pytest.raises(CatalogueError, match=r"lean.py imports lone_gain, which lies beside it.*sys.path.insert\(0,"):
        registry.open_codec(f"{codec.parent}/lean.py:Lean")
    (tmp_path / "alone.py").write_text("import no_such_package_anywhere\n")
    with pytest.raises(MissingDependency, match="pip install no_such_package_anywhere"):
        registry.open_codec(f"{tmp_path}/alone.py:Alone")
