"""Each Whisper backend tells a multilingual model the clip's language, or has it detected where none is named."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import whisper
from support.applications.asr import item, loaded, noise
from support.applications.recognisers import save_random_ct2, save_random_openai, save_random_whisper

from codec_superb.applications.asr.whisper_decoding import whisper_language
from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Backend

pytestmark = pytest.mark.network
BACKENDS = ("faster-whisper", "openai-whisper", "transformers-asr")


@pytest.fixture(scope="module")
def backends(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Backend]:
    """Load a tiny multilingual model with random weights in each backend."""
    folder = tmp_path_factory.mktemp("random")
    save_random_ct2(folder / "ct2")
    save_random_openai(folder / "small.pt")
    save_random_whisper(folder / "hub")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # openai-whisper leaves the file of its tokens open
        whisper.tokenizer.get_tokenizer(multilingual=True)
    places: tuple[Path, ...] = (folder / "ct2", folder / "small.pt", folder / "hub")
    return {name: loaded(open_backend(name, place)) for name, place in zip(BACKENDS, places, strict=True)}


@pytest.mark.parametrize("name", BACKENDS)
class TestLanguages:
    """What a multilingual model is told."""

    @pytest.mark.sample(1)
    @pytest.mark.sample(2, among="languages of recognisers")
    def test_the_language_is_told(self, backends: dict[str, Backend], name: str) -> None:
        """The same sound in another language is another prompt: random weights answer otherwise, and repeatably."""
        english, german, british = (noise(2, 0, language) for language in ("en", "de-AT", "en-GB"))
        said = backends[name].predict([english, german, british])
        assert all(isinstance(text, str) and text for text in said)
        assert said[0] == said[2] != said[1]
        assert backends[name].predict([german]) == [said[1]]

    @pytest.mark.sample(1)
    @pytest.mark.sample(2, among="languages of recognisers")
    def test_a_language_that_is_not_named_is_detected(self, backends: dict[str, Backend], name: str) -> None:
        """Without a language the model picks one, the same each time."""
        (said,) = backends[name].predict([noise(2, 0, None)])
        assert isinstance(said, str)
        assert backends[name].predict([noise(2, 0, "und")]) == [said]

    @pytest.mark.sample(1)
    @pytest.mark.sample(2, among="languages of recognisers")
    def test_an_unknown_language_costs_its_clip(self, backends: dict[str, Backend], name: str) -> None:
        """A language that the model has no token for is an error of that clip alone."""
        lost, kept = backends[name].predict([noise(1, 0, "tlh"), noise(1, 1)])
        assert isinstance(lost, PredictionFailed)
        assert "does not know the language tlh of noise0" in str(lost)
        assert isinstance(kept, str)


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("en", "en"), ("pt-BR", "pt"), ("zh_Hant_TW", "zh"), ("cmn-CN", "zh"), ("nb", "no"), ("jv", "jw"),
        ("yue", "yue"), ("EN-us", "en"), (None, None), ("", None), ("und", None),
    ],
)  # fmt: skip
def test_language_tags_as_whisper_names_them(tag: str | None, expected: str | None) -> None:
    """The primary subtag counts; some languages have another name in Whisper."""
    assert whisper_language(item(language=tag)) == expected
    assert expected is None or expected in whisper.tokenizer.LANGUAGES
