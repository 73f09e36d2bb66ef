"""Isolated codecs on a graphics card: their locks, what the driver says, and a run, with a stand-in for the driver.

The stand-in is a library ``libcuda.so.1`` that is compiled here; no test of this file computes on a card.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.codecs import isolated
from support.codecs.isolated import LOCK, TORCH_LOCK, clip, make_clips, make_tiny_environment, tiny_card

from codec_superb.base_codec.errors import CatalogueError, CodecUnusable, RefusedSetting
from codec_superb.base_codec.isolation import lock as locks
from codec_superb.base_codec.isolation.codec import IsolatedCodec
from codec_superb.base_codec.isolation.cuda import cards_here, refuse_cuda
from codec_superb.base_codec.isolation.environment import all_environments, find_environment, remove
from codec_superb.base_codec.isolation.lock import lock_names, open_lock, packages_for_cuda
from codec_superb.cli.main import call
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.workers.devices import chosen_device

ON_CUDA, TINY = (f"{Path(isolated.__file__).resolve()}:{name}" for name in ("OnCuda", "Tiny"))
DRIVER = """
int cuInit(unsigned flags) { return %d; }
int cuDeviceGetCount(int *count) { *count = %d; return 0; }
int cuDriverGetVersion(int *version) { *version = %d; return 0; }
"""
PutDriver = Callable[..., None]


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PutDriver]:
    """Return what puts a driver with so many cards, for that version of CUDA, where programs find it."""

    def put(cards: int, version: int, answer: int = 0) -> None:
        folder = tmp_path / f"driver-{cards}-{version}-{answer}"
        folder.mkdir()
        code = DRIVER % (answer, cards, version)
        command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", folder / "libcuda.so.1"]
        subprocess.run(command, input=code, text=True, check=True)
        monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
        cards_here.cache_clear()

    yield put
    cards_here.cache_clear()


class TestLocks:
    """The same lock with another PyTorch."""

    @pytest.mark.parametrize("name", lock_names())
    def test_every_lock_with_torch_has_packages_for_cuda(self, name: str) -> None:
        """Torch is that of the lock, built for CUDA; all else is as on the CPU, and every file has a hash."""
        cpu = open_lock(name)
        if "torch" not in cpu.pins:
            with pytest.raises(RefusedSetting, match="there are none for CUDA"):
                open_lock(name, "cuda")
            return
        cuda = open_lock(name, "cuda")
        assert (cuda.name, cuda.path, cuda.python, cuda.platform) == (
            f"{name}-cuda",
            cpu.path,
            cpu.python,
            cpu.platform,
        )
        assert cuda == open_lock(f"{name}-cuda")
        assert cuda.digest != cpu.digest
        assert cuda.pins["torch"] + "+cpu" == cpu.pins["torch"]
        added = {package: version for package, version in cuda.pins.items() if cpu.pins.get(package) != version}
        assert {"torch", "triton", "nvidia-cudnn-cu13"} <= added.keys()
        assert all(re.match("torch$|triton$|nvidia-|cuda-", package) for package in added)
        assert cpu.pins.keys() <= cuda.pins.keys()
        lines = [line for line in cuda.text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
        assert len(lines) == len(cuda.pins) - len(cuda.repositories)
        assert all("--hash=sha256:" in line for line in lines)

    def test_packages_for_cuda_say_which_driver_they_need(self) -> None:
        """The version is that of the CUDA libraries among them."""
        for path in packages_for_cuda():
            needed = re.search(r"^# cuda: (\d+\.\d+)$", path.read_text(), re.MULTILINE)
            held = re.search(r"^nvidia-cuda-runtime==(\d+\.\d+)\.", path.read_text(), re.MULTILINE)
            assert needed
            assert held
            assert needed[1] == held[1]

    def test_a_lock_without_torch_has_none(self, tmp_path: Path) -> None:
        """Without torch, or with a version that nobody made packages for, the error says what would be needed."""
        with pytest.raises(
            RefusedSetting, match=r"tiny: .* there are none for CUDA, .*torch==VERSION\+cpu \(known: torch"
        ):
            open_lock(str(LOCK), "cuda")
        other = tmp_path / "other.txt"
        other.write_text(TORCH_LOCK.read_text().replace("2.13.0", "1.0.0"))
        with pytest.raises(RefusedSetting, match="other: its locked packages run on the cpu"):
            open_lock(str(other), "cuda")

    def test_a_version_that_is_none_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The head of the packages for CUDA is read as strictly as that of a lock."""
        (tmp_path / "cuda").mkdir()
        (tmp_path / "cuda" / "torch-2.13.0.txt").write_text("# cuda: new\n")
        monkeypatch.setattr(locks, "LOCKS", tmp_path)
        with pytest.raises(CatalogueError, match=r"expected a version such as `# cuda: 13\.0`, got 'new'"):
            open_lock(str(TORCH_LOCK), "cuda")


class TestDriver:
    """What the machine has."""

    def test_cards_and_version_are_the_drivers(self, driver: PutDriver) -> None:
        """A version is 1000 times the major number and 10 times the minor one."""
        driver(2, 12040)
        assert cards_here() == (2, (12, 4))
        driver(1, 13010)
        assert cards_here() == (1, (13, 1))

    def test_no_card_or_a_driver_that_does_not_start_is_none(self, driver: PutDriver) -> None:
        """All cards hidden by CUDA_VISIBLE_DEVICES, or an error of the driver: there is nothing to compute on."""
        driver(0, 13000)
        assert cards_here() is None
        driver(1, 13000, answer=100)
        assert cards_here() is None

    def test_an_older_driver_is_named(self, driver: PutDriver) -> None:
        """CUDA 13 needs a driver for CUDA 13; one for a newer version runs it."""
        lock = open_lock("snac", "cuda")
        driver(1, 12080)
        with pytest.raises(
            RefusedSetting, match=r"a driver for CUDA 13\.0, found a driver for CUDA 12\.8; take --device"
        ):
            refuse_cuda(lock)
        driver(1, 13020)
        refuse_cuda(lock)

    def test_the_device_is_the_cards_where_it_can_be(self, driver: PutDriver) -> None:
        """``auto`` takes the card for an isolated neural codec whose lock has packages for it, else the CPU."""
        driver(1, 13000)
        assert chosen_device("snac_24k", "auto") == "cuda"
        assert chosen_device(TINY, "auto") == "cpu"
        driver(1, 12000)
        assert chosen_device("snac_24k", "auto") == "cpu"


class TestRuns:
    """A codec whose guest is told the device; its environment is made by hand."""

    def test_a_run_on_the_card_batches_and_says_so(
        self, tmp_path: Path, driver: PutDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The environment is the one for CUDA, the guest gets the device, batches are on, the stamp says cuda."""
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
        folder = make_tiny_environment(TORCH_LOCK, "cuda")
        driver(1, 13000)
        clips = make_clips(tmp_path / "clips", [0, 0, 0])
        (outcome,) = resynthesise([ON_CUDA], [str(clips)], out=tmp_path / "runs", device="cuda", workers=1)
        assert outcome.complete
        (stamp,) = RunFolder(outcome.path).info().provenance
        assert (stamp.device, stamp.batch_seconds) == ("cuda", 60.0)
        assert find_environment(open_lock(str(TORCH_LOCK), "cuda")).folder == folder
        codec = IsolatedCodec(tiny_card(settings={"device": "cuda"}, isolation={"lock": str(TORCH_LOCK)})).load("cuda")
        assert codec.encode(clip(), 16000).tokens == 1600
        codec.close()

    def test_the_guest_of_another_device_is_another(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """On the CPU the environment is the lock's own, and the guest is told the CPU."""
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
        make_tiny_environment(TORCH_LOCK)
        with pytest.raises(CodecUnusable, match="expected the device cuda, got cpu"):
            IsolatedCodec(tiny_card(settings={"device": "cuda"}, isolation={"lock": str(TORCH_LOCK)})).load()

    def test_without_a_card_it_is_said_before_any_work(self, tmp_path: Path, driver: PutDriver) -> None:
        """Neither is an environment built nor a run begun."""
        driver(0, 13000)
        clips = make_clips(tmp_path / "clips", [0])
        with pytest.raises(
            PipelineError, match=r"tiny_torch-cuda: expected an NVIDIA graphics card .*, found none; take"
        ):
            resynthesise(["opus_12k", ON_CUDA], [str(clips)], out=tmp_path / "runs", device="cuda")
        with pytest.raises(RefusedSetting, match="found none"):
            IsolatedCodec(tiny_card(isolation={"lock": str(TORCH_LOCK)})).load("cuda")
        assert not (tmp_path / "runs").exists()

    def test_environments_for_cuda_are_listed_where_they_are(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """One that is built is listed and removed by its name; the twenty that are not are left out."""
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
        assert not [each.name for each in all_environments() if each.name.endswith("-cuda")]
        make_tiny_environment("snac", "cuda")
        assert [each.name for each in all_environments() if each.name.endswith("-cuda")] == ["snac-cuda"]
        assert call(["codecs", "env", "build", "snac_24k-cuda"]) == 0
        assert "snac-cuda: there already" in capsys.readouterr().out
        assert call(["codecs", "env", "remove", "snac-cuda"]) == 0
        assert not remove(find_environment(open_lock("snac-cuda")))
