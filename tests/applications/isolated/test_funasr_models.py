"""Folders of FunASR's models, looked at without their packages: what they are called, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codec_superb.applications.asr.paraformer import Paraformer
from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.er.emotion2vec import Emotion2Vec
from codec_superb.applications.errors import MissingModel

LABELS = (
    "生气/angry\n厌恶/disgusted\n恐惧/fearful\n开心/happy\n中立/neutral\n其他/other\n难过/sad\n吃惊/surprised\n<unk>\n"
)
EMOTIONS = ["anger", "disgust", "fear", "happiness", "neutral", "other", "sadness", "surprise", "unknown"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make the folder of an emotion2vec that nobody could load."""
    (tmp_path / "config.yaml").write_text("model: Emotion2vec\n")
    (tmp_path / "model.pt").write_bytes(b"weights")
    (tmp_path / "tokens.txt").write_text(LABELS, encoding="utf-8")
    return tmp_path


def test_a_folder_becomes_a_model_without_its_path(folder: Path) -> None:
    """Name, settings and hash say what runs; the path of this machine is in none of them."""
    model = Emotion2Vec("", folder).find(Path("python"))
    assert model.name == f"emotion2vec:local:{folder.name}"
    assert model.settings["package"] == "funasr 1.4.16"
    assert model.path == folder
    assert not model.random
    assert Emotion2Vec(str(folder)).find(Path("python")) == model


def test_every_file_counts_in_the_hash(folder: Path) -> None:
    """Other weights, tokens, settings, or a file that configuration.json names: another model."""
    seen = {Emotion2Vec("", folder).find(Path("python")).sha256}
    (folder / "configuration.json").write_text(json.dumps({"file_path_metas": {"a": {"b": "extra.bin"}, "c": 1}}))
    (folder / "extra.bin").write_bytes(b"x")
    seen.add(Emotion2Vec("", folder).find(Path("python")).sha256)
    (folder / "tokens.txt").write_text(LABELS.replace("sad", "bad"), encoding="utf-8")
    seen.add(Emotion2Vec("", folder).find(Path("python")).sha256)
    (folder / "model.pt").write_bytes(b"other weights")
    seen.add(Emotion2Vec("", folder).find(Path("python")).sha256)
    assert len(seen) == 4


def test_a_random_checkpoint_says_so(folder: Path) -> None:
    """The key in config.yaml marks what nobody trained."""
    (folder / "config.yaml").write_text("model: Emotion2vec\ncodec_superb_random: true\n")
    assert Emotion2Vec("", folder).find(Path("python")).random


def test_classes_are_the_emotions_as_datasets_call_them(folder: Path) -> None:
    """The nine classes in the model's order; what the package leaves out is left out here."""
    model = Emotion2Vec("", folder).find(Path("python"))
    assert Emotion2Vec().classes(model) == EMOTIONS
    (folder / "tokens.txt").write_text("unuse_0\n开心/happy\nsad\n", encoding="utf-8")
    assert Emotion2Vec().classes(model) == ["happiness", "sadness"]
    (folder / "tokens.txt").write_text("happy\n开心/happy\n", encoding="utf-8")
    with pytest.raises(MissingModel, match="expected each emotion once"):
        Emotion2Vec().classes(model)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("model: Whisper\n", "expected a model Emotion2vec, got Whisper"),
        ("- a list\n", "expected a model Emotion2vec, got list"),
        ("model: [", "cannot be read as YAML"),
    ],
)
def test_another_model_is_refused_before_it_is_loaded(folder: Path, config: str, message: str) -> None:
    """A folder of another model, or a broken one, is named at once."""
    (folder / "config.yaml").write_text(config)
    with pytest.raises(MissingModel, match=message):
        Emotion2Vec("", folder).find(Path("python"))


def test_broken_lists_are_named(folder: Path) -> None:
    """A configuration.json or a list of tokens that is no JSON is an error that names the file."""
    model = Emotion2Vec("", folder).find(Path("python"))
    (folder / "tokens.txt").rename(folder / "tokens.json")
    with pytest.raises(MissingModel, match=r"tokens\.json cannot be read"):
        Emotion2Vec().classes(model)
    (folder / "configuration.json").write_text("{")
    with pytest.raises(MissingModel, match=r"configuration.json cannot be read as JSON"):
        Emotion2Vec("", folder).find(Path("python"))


def test_a_missing_file_names_the_publisher(folder: Path) -> None:
    """Paraformer needs am.mvn besides; the error says what to fetch, and how."""
    (folder / "config.yaml").write_text("model: SeacoParaformer\n")
    with pytest.raises(MissingModel) as caught:
        Paraformer("", folder).find(Path("python"))
    assert f"paraformer: no file am.mvn in {folder}" in str(caught.value)
    assert "speech_seaco_paraformer_large_asr_nat-zh-cn-16k-common-vocab8404-pytorch --revision v2.0.4" in str(
        caught.value
    )


def test_the_catalogue_opens_both() -> None:
    """Names of the catalogue lead to the classes, without the packages of either."""
    assert isinstance(open_backend("paraformer"), Paraformer)
    assert isinstance(open_backend("emotion2vec:iic/emotion2vec_plus_large"), Emotion2Vec)
