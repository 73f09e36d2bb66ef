"""The GE2E encoder in numpy: the same embeddings as the package, its parts, and clips that it cannot answer for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support.applications.asv import Samples, answers, clips, librivox, original_embeddings
from support.librosa_uncompiled import librosa
from support.profile import examples

from codec_superb.applications.asv import ge2e
from codec_superb.applications.asv.ge2e import Ge2eEncoder, mel_spectrum, partial_starts, partial_utterances
from codec_superb.applications.asv.legacy_checkpoint import BadCheckpoint, read_legacy_checkpoint
from codec_superb.applications.asv.resemblyzer import Resemblyzer
from codec_superb.applications.asv.voice_trimming import trim_silences, windows_to_keep
from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import MissingModel, PredictionFailed
from codec_superb.applications.model_files import embedded_model_folder
from codec_superb.base_codec.registry import open_codec


@pytest.fixture(scope="session")
def resemblyzer() -> Resemblyzer:
    """Return the backend as a user opens it, loaded."""
    backend = open_backend("resemblyzer")
    assert isinstance(backend, Resemblyzer)
    backend.load(backend.prepare(), "cpu", 1)
    return backend


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Samples]:
    """Return what the package itself computes.

    Two clips have embeddings that differ by more than any tolerance: agreement is no accident.
    """
    found = original_embeddings(tmp_path_factory.mktemp("resemblyzer"), clips())
    assert found["middle.embedding"] @ found["quiet.embedding"] < 0.9
    return found


@pytest.mark.sample(1, among="Resemblyzer's numbers")
class TestAgainstThePackage:
    """Resemblyzer 0.1.4 run by its own code, with torch and librosa."""

    @pytest.mark.parametrize("name", clips())
    def test_the_same_samples_are_kept(self, name: str, original: dict[str, Samples]) -> None:
        """Level and voice activity leave the very samples that the package leaves."""
        prepared = trim_silences(clips()[name])
        assert prepared.shape == original[f"{name}.prepared"].shape
        np.testing.assert_allclose(prepared, original[f"{name}.prepared"], rtol=1e-5, atol=1e-7)

    @pytest.mark.parametrize("name", clips())
    def test_the_same_embedding(self, name: str, original: dict[str, Samples], resemblyzer: Resemblyzer) -> None:
        """Every number agrees to 1e-6 and the cosine to 1e-6."""
        (ours,) = answers(resemblyzer, [clips()[name]])
        theirs = original[f"{name}.embedding"]
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
        assert float(ours @ theirs) == pytest.approx(1.0, abs=1e-6)


class TestNetwork:
    """The parts of the encoder."""

    @pytest.mark.sample(1, among="Resemblyzer's numbers")
    def test_mel_spectrum_is_librosas(self) -> None:
        """Power mel spectra agree with librosa's to 1e-5 of the largest number of a frame."""
        speech = clips()["middle"]
        theirs = librosa.feature.melspectrogram(y=speech, sr=16000, n_fft=400, hop_length=160, n_mels=40).T
        ours = mel_spectrum(speech)
        assert ours.shape == theirs.shape
        assert np.abs(ours - theirs).max() < 1e-5 * theirs.max()

    def test_lstm_is_torchs(self) -> None:
        """With the published weights, partial embeddings equal those of torch's LSTM and linear layer to 1e-6."""
        weights = read_legacy_checkpoint(embedded_model_folder("resemblyzer") / "pretrained.pt")["model_state"]
        mels = partial_utterances(trim_silences(clips()["long"]))
        lstm, linear = torch.nn.LSTM(40, 256, 3, batch_first=True), torch.nn.Linear(256, 256)
        for prefix, module in (("lstm.", lstm), ("linear.", linear)):
            module.load_state_dict(
                {
                    key.removeprefix(prefix): torch.tensor(value)
                    for key, value in weights.items()
                    if key.startswith(prefix)
                }
            )
        with torch.no_grad():
            fired = torch.relu(linear(lstm(torch.tensor(mels))[1][0][-1]))
            theirs = (fired / fired.norm(dim=1, keepdim=True)).numpy()
        np.testing.assert_allclose(Ge2eEncoder(weights).embed_partials(mels), theirs, atol=1e-6)

    def test_a_long_clip_goes_in_blocks(self, resemblyzer: Resemblyzer, monkeypatch: pytest.MonkeyPatch) -> None:
        """Blocks of three partial utterances give the embedding of one block, to rounding."""
        whole = answers(resemblyzer, [clips()["long"]])[0]
        monkeypatch.setattr(ge2e, "BLOCK", 3)
        np.testing.assert_allclose(answers(resemblyzer, [clips()["long"]])[0], whole, atol=1e-6)

    @pytest.mark.parametrize(
        ("samples", "starts"),
        [(480, [0]), (25_600, [0]), (30_000, [0]), (31_519, [0]), (31_520, [0, 77]), (50_000, [0, 77, 154])],
    )
    def test_partial_utterances_begin_every_77_frames(self, samples: int, starts: list[int]) -> None:
        """A last one counts when sound covers three quarters of it, 19,200 samples from its first on."""
        assert partial_starts(samples).tolist() == starts

    @given(st.integers(1, 400_000))
    def test_partial_utterances_cover_the_clip(self, samples: int) -> None:
        """No more than the uncovered quarter of a partial utterance and a step are lost at the end."""
        starts = partial_starts(samples)
        assert starts[0] == 0
        assert np.all(np.diff(starts) == 77)
        assert samples - (starts[-1] + 160) * 160 < 19_200

    def test_an_answer_of_zeros_is_a_failure(self) -> None:
        """Where no cell fires the clip fails; it gets no direction of zeros."""
        weights = dict(read_legacy_checkpoint(embedded_model_folder("resemblyzer") / "pretrained.pt")["model_state"])
        weights["linear.weight"], weights["linear.bias"] = 0 * weights["linear.weight"], 0 * weights["linear.bias"] - 1
        with pytest.raises(PredictionFailed, match="zeros"):
            Ge2eEncoder(weights).embed(clips()["short"])


class TestTrimming:
    """Voice activity."""

    @given(arrays.arrays(bool, st.integers(1, 60)))
    @examples(50)
    def test_averaging_and_widening(self, speech: np.ndarray) -> None:
        """A window stays when more than four of the eight around it, or around one of its neighbours, hold speech."""
        padded = [0] * 3 + speech.astype(int).tolist() + [0] * 4
        majority = [sum(padded[i : i + 8]) > 4 for i in range(len(speech))]
        expected = [any(majority[max(0, i - 3) : i + 4]) for i in range(len(speech))]
        assert windows_to_keep(speech).tolist() == expected

    def test_a_loud_clip_keeps_its_level(self) -> None:
        """Samples above -30 dBFS come back as they went in."""
        speech = clips()["middle"]
        kept = trim_silences(speech)
        assert np.isin(kept, speech).all()

    @pytest.mark.parametrize(
        ("samples", "reason"),
        [
            (np.zeros(16_000), "silent"),
            (np.zeros(0), "silent"),
            (np.full(100, 0.1), "finds no speech"),
            (0.5 * np.sin(2 * np.pi * 440 * np.arange(32_000) / 16_000) * (np.arange(32_000) < 600), "finds no speech"),
            (np.full(16_000, np.nan), "not finite"),
            (np.full(16_000, np.inf), "not finite"),
        ],
    )
    def test_clips_without_a_speaker_fail(self, samples: np.ndarray, reason: str, resemblyzer: Resemblyzer) -> None:
        """Silence, a clip of 6 ms, a click and numbers that are not finite cost that clip alone, with the reason."""
        failed, answered = answers(resemblyzer, [samples, clips()["short"]])
        assert isinstance(failed, PredictionFailed)
        assert reason in str(failed)
        assert answered.shape == (256,)


class TestBackend:
    """The backend as a user has it."""

    def test_a_batch_changes_no_bit(self, resemblyzer: Resemblyzer) -> None:
        """Clips together, in reverse, and one by one have the same answers, bit for bit."""
        sounds = [clips()[name] for name in ("middle", "short", "quiet")]
        together = answers(resemblyzer, sounds)
        for one, alone in zip(together, [answers(resemblyzer, [clip])[0] for clip in sounds], strict=True):
            np.testing.assert_array_equal(one, alone)
        for one, other in zip(together, reversed(answers(resemblyzer, sounds[::-1])), strict=True):
            np.testing.assert_array_equal(one, other)

    def test_an_embedding_is_a_direction(self, resemblyzer: Resemblyzer) -> None:
        """256 float32 numbers, none negative, of length 1; and no batch needs no answer."""
        (vector,) = answers(resemblyzer, [clips()["middle"]])
        assert vector.dtype == np.float32
        assert vector.min() >= 0
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)
        assert answers(resemblyzer, []) == []

    def test_names_no_path(self) -> None:
        """The model is named by its backend and hash."""
        model = open_backend("resemblyzer").prepare()
        assert model.name == "resemblyzer"
        assert model.sha256 == "39373b86598fa3da9fcddee6142382efe09777e8d37dc9c0561f41f0070f134e"
        assert not model.random
        assert not any("/" in str(value) for value in model.settings.values())

    def test_takes_weights_of_a_folder(self, tmp_path: Path, resemblyzer: Resemblyzer) -> None:
        """A folder or file with other weights is loaded and named without its path; the answers are its own."""
        source = read_legacy_checkpoint(embedded_model_folder("resemblyzer") / "pretrained.pt")["model_state"]
        state = {key: torch.tensor(value) * (0.9 if "linear" in key else 1.0) for key, value in source.items()}
        folder = tmp_path / "own"
        folder.mkdir()
        torch.save({"model_state": state}, folder / "pretrained.pt", _use_new_zipfile_serialization=False)
        for backend in (open_backend("resemblyzer", folder), open_backend(f"resemblyzer:{folder / 'pretrained.pt'}")):
            model = backend.prepare()
            assert model.name == "resemblyzer:local:own"
            assert model.sha256 != resemblyzer.prepare().sha256
            backend.load(model, "cpu", 1)
            assert answers(backend, [clips()["short"]])[0].shape == (256,)
            backend.close()

    def test_names_what_is_missing(self, tmp_path: Path) -> None:
        """A folder without weights, and weights of another network, are said."""
        with pytest.raises(MissingModel, match=r"pretrained\.pt; take pretrained\.pt out of Resemblyzer-0\.1\.4"):
            open_backend("resemblyzer", tmp_path).prepare()
        torch.save({"model_state": {}}, tmp_path / "pretrained.pt", _use_new_zipfile_serialization=False)
        backend = open_backend("resemblyzer", tmp_path)
        with pytest.raises(BadCheckpoint, match="no speaker encoder"):
            backend.load(backend.prepare(), "cpu", 1)

    @pytest.mark.sample(1, among="Resemblyzer's numbers")
    def test_codecs_come_out_in_the_known_order(self, resemblyzer: Resemblyzer) -> None:
        """On five sentences Opus at 24 kbps keeps the speaker (0.99), at 6 kbps less so (0.92), Codec2 least (0.76)."""
        references = answers(resemblyzer, librivox())
        means = []
        for name in ("opus_24k", "opus_6k", "codec2_3200"):
            codec = open_codec(name)
            decoded = [codec.decode(codec.encode(clip[None], 16_000))[0] for clip in librivox()]
            pairs = zip(references, answers(resemblyzer, decoded), strict=True)
            means.append(float(np.mean([left @ right for left, right in pairs])))
        assert means == pytest.approx([0.994, 0.922, 0.76], abs=0.015)
