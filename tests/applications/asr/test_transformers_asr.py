"""Recognisers of transformers give the same transcripts alone and together, and Whisper those of the other backends."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.applications.asr import item, librivox, loaded, noise
from support.applications.recognisers import save_random_wav2vec2, save_random_whisper, save_tiny_en

from codec_superb.applications.asr.transformers_asr import TransformersASR
from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import ApplicationError, MissingModel, OutOfMemory, PredictionFailed
from codec_superb.applications.interface import Backend, Prediction, Sound

network = pytest.mark.network


@pytest.fixture(scope="module")
def ctc(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Backend]:
    """Load a tiny wav2vec 2.0 of either kind, through the path that a user takes."""
    backends = {}
    for norm in ("layer", "group"):
        folder = tmp_path_factory.mktemp(norm)
        save_random_wav2vec2(folder, norm)
        backends[norm] = loaded(open_backend("transformers-asr", folder))
    return backends


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Backend:
    """Load the weights of tiny.en, converted."""
    folder = tmp_path_factory.mktemp("tiny-en")
    save_tiny_en(folder)
    return loaded(open_backend(f"transformers-asr:{folder}"))


@pytest.fixture(scope="module")
def multilingual(tmp_path_factory: pytest.TempPathFactory) -> Backend:
    """Load a tiny Whisper of two languages with random weights."""
    folder = tmp_path_factory.mktemp("whisper")
    save_random_whisper(folder)
    return loaded(open_backend(f"transformers-asr:{folder}"))


@network
class TestWhisper:
    """Whisper through transformers."""

    @pytest.mark.sample(1, among="recognisers hear")
    def test_the_same_weights_give_the_same_transcripts(
        self, converted: Backend, heard: list[Prediction | Exception]
    ) -> None:
        """With the weights of tiny.en all recordings in one batch read as CTranslate2 reads them one by one."""
        assert converted.predict(librivox()) == heard

    @pytest.mark.sample(1, among="recognisers hear")
    def test_a_batch_gives_what_single_sounds_give(self, multilingual: Backend) -> None:
        """Sounds of several lengths and languages together give what each gives alone, and again the same."""
        sounds = [noise(1, 0), noise(33, 1, "de-AT"), noise(4, 2), noise(2, 3, "de")]
        together = multilingual.predict(sounds)
        assert together == [multilingual.predict([sound])[0] for sound in sounds]
        assert together == multilingual.predict(sounds)
        assert all(isinstance(answer, str) and answer for answer in together)

    @pytest.mark.sample(1, among="recognisers hear")
    def test_a_transcript_has_an_end(self, multilingual: Backend) -> None:
        """A model that never ends says 224 tokens, as with the other Whisper backends."""
        recogniser = multilingual._recogniser  # type: ignore[attr-defined]
        (text,) = multilingual.predict([noise(1, 0)])
        features = recogniser._features(noise(1, 0).samples, sampling_rate=16_000, return_tensors="pt").input_features
        tokens = recogniser._model.generate(features, do_sample=False, language="en", task="transcribe")
        assert tokens.shape[1] == 224
        assert recogniser._tokenizer.decode(tokens[0], skip_special_tokens=True).strip() == text

    @pytest.mark.sample(1, among="recognisers hear")
    def test_the_language_is_told(self, multilingual: Backend) -> None:
        """The same sound in another language is another prompt: random weights answer otherwise."""
        english, german = (noise(3, 0, language) for language in ("en", "de"))
        assert multilingual.predict([english]) != multilingual.predict([german])

    @pytest.mark.sample(2, among="languages of recognisers")
    def test_an_unknown_language_costs_its_clip(self, multilingual: Backend) -> None:
        """A language that the model has no token for is an error of that clip alone."""
        lost, kept = multilingual.predict([noise(1, 0, "xx"), noise(1, 1)])
        assert isinstance(lost, PredictionFailed)
        assert "does not know the language xx" in str(lost)
        assert isinstance(kept, str)

    @pytest.mark.sample(2, among="languages of recognisers")
    def test_a_model_of_english_alone_says_so(self, converted: Backend) -> None:
        """A French clip costs itself."""
        (answer,) = converted.predict([noise(1, 0, "fr")])
        assert isinstance(answer, PredictionFailed)


class TestCtc:
    """wav2vec 2.0 through transformers."""

    SOUNDS = (noise(0.5, 0), noise(2.0, 1), noise(1.1, 2), noise(31.0, 3))

    @pytest.mark.sample(1)
    @pytest.mark.parametrize("norm", ["layer", "group"])
    def test_a_batch_gives_what_single_sounds_give(self, ctc: dict[str, Backend], norm: str) -> None:
        """Neither padding nor the others change a letter, whichever way the convolutions normalise."""
        together = ctc[norm].predict(self.SOUNDS)
        assert together == [ctc[norm].predict([sound])[0] for sound in self.SOUNDS]
        assert together[::-1] == ctc[norm].predict(self.SOUNDS[::-1])
        assert len({str(answer) for answer in together}) == len(together)

    def test_too_short_a_sound_says_nothing(self, ctc: dict[str, Backend]) -> None:
        """A sound shorter than one frame has no letter; one of a frame is heard; one without samples is an error."""
        short, frame = (Sound(item(), np.full(length, 0.1, np.float32)) for length in (399, 400))
        answers = ctc["layer"].predict([short, frame, Sound(item(), np.zeros(0, np.float32))])
        assert answers[0] == ""
        assert isinstance(answers[1], str)
        assert isinstance(answers[2], PredictionFailed)

    def test_memory_that_runs_out_is_the_batchs(self, ctc: dict[str, Backend], monkeypatch: pytest.MonkeyPatch) -> None:
        """When torch has no memory left the caller is told so, to halve the batch."""

        def no_memory(*_: object) -> None:
            raise RuntimeError(
                "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"
            )

        monkeypatch.setattr(ctc["layer"]._recogniser, "transcribe", no_memory)  # type: ignore[attr-defined]
        with pytest.raises(OutOfMemory, match="a batch of 4 sounds does not fit"):
            ctc["layer"].predict(self.SOUNDS)

    def test_another_error_costs_the_sound_that_raises_it(
        self, ctc: dict[str, Backend], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """When a model cannot answer for one sound of a batch, the others keep their answers."""
        whole = ctc["layer"]._recogniser.transcribe  # type: ignore[attr-defined]

        def refusing(parts: list[np.ndarray], items: list[object]) -> object:
            if any(part.size == 8000 for part in parts):
                raise RuntimeError("no half seconds")
            return whole(parts, items)

        expected = ctc["layer"].predict(self.SOUNDS[1:3])
        monkeypatch.setattr(ctc["layer"]._recogniser, "transcribe", refusing)  # type: ignore[attr-defined]
        refused, *rest = ctc["layer"].predict(self.SOUNDS[:3])
        assert str(refused) == "no half seconds"
        assert rest == expected


class TestPrepare:
    """Which checkpoint runs, and what is missing of one."""

    def test_a_folder_is_named_without_its_path(self, tmp_path: Path) -> None:
        """A random checkpoint says so, and the settings say how it decodes."""
        save_random_wav2vec2(tmp_path / "mine", "group")
        model = TransformersASR(str(tmp_path / "mine")).prepare()
        assert model.name == "transformers-asr:local:mine"
        assert model.random
        assert model.settings["decoding"] == "greedy CTC"
        assert model == TransformersASR("", tmp_path / "mine").prepare()

    def test_missing_files_are_named(self, tmp_path: Path) -> None:
        """An incomplete folder is answered with each missing file and the command."""
        (tmp_path / "config.json").write_text('{"model_type": "wav2vec2"}')
        with pytest.raises(MissingModel) as caught:
            TransformersASR("", tmp_path).prepare()
        for word in ("vocab.json", "model.safetensors", "preprocessor_config.json", "hf download"):
            assert word in str(caught.value)

    def test_offline_the_whole_list_is_named(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Without a network the command fetches everything that a Whisper checkpoint needs."""
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
        with pytest.raises(MissingModel, match=r"hf download openai/whisper-large-v3 .*generation_config\.json"):
            TransformersASR().prepare()
        with pytest.raises(MissingModel, match=r"hf download someone/wav2vec2-x .*vocab\.json .*--revision abc"):
            TransformersASR("someone/wav2vec2-x@abc").prepare()

    @pytest.mark.parametrize("content", ["[]", "{", '{"model_type": "bert"}'])
    def test_another_kind_of_checkpoint(self, tmp_path: Path, content: str) -> None:
        """What is no recogniser is refused with what was expected."""
        (tmp_path / "config.json").write_text(content)
        with pytest.raises(ApplicationError, match=r"expected a|cannot be read as JSON"):
            TransformersASR("", tmp_path).prepare()

    def test_missing_tensors_are_named(self, tmp_path: Path) -> None:
        """A checkpoint without the head for CTC is refused before it says anything."""
        from safetensors.torch import load_file, save_file

        save_random_wav2vec2(tmp_path, "group")
        tensors = load_file(tmp_path / "model.safetensors")
        save_file(
            {name: value for name, value in tensors.items() if "lm_head" not in name},
            tmp_path / "model.safetensors",
            {"format": "pt"},
        )
        backend = TransformersASR("", tmp_path)
        with pytest.raises(MissingModel, match=r"lacks lm_head\.bias, lm_head\.weight"):
            loaded(backend)

    def test_another_rate_is_refused(self, tmp_path: Path) -> None:
        """A model of 8 kHz is not given 16 kHz."""
        save_random_wav2vec2(tmp_path, "group")
        file = tmp_path / "preprocessor_config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"sampling_rate": 8000}))
        with pytest.raises(ApplicationError, match="expected a model of 16000 Hz, got one of 8000 Hz"):
            loaded(TransformersASR("", tmp_path))
