"""Text encoders of transformers: checkpoints that the tests make, in the layout of sentence-transformers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from codec_superb.applications.errors import ApplicationError, MissingModel
from codec_superb.applications.text.minilm import MiniLm
from codec_superb.applications.text.tf_idf import DIMENSIONS, TfIdf
from codec_superb.applications.text.transformers_text import TransformersText
from codec_superb.applications.transformers_checkpoint import import_transformers

MODULES = ["Transformer", "Pooling", "Normalize"]


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a small BERT with seeded weights and MiniLM's tokeniser."""
    folder = tmp_path_factory.mktemp("text") / "toy"
    transformers = import_transformers()
    torch.manual_seed(3)
    config = transformers.BertConfig(
        vocab_size=30522, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=40, codec_superb_random=True,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    found = MiniLm().prepare().path
    assert found is not None
    shutil.copy(found / "tokenizer.json", folder)
    return folder


def sentence_folder(checkpoint: Path, place: Path, modules: list[str], **files: Any) -> Path:
    """Copy a checkpoint and add files of sentence-transformers."""
    folder = place / "sentences"
    shutil.copytree(checkpoint, folder)
    paths = {"Transformer": "", "Pooling": "1_Pooling"}
    rows = [
        {
            "idx": at,
            "name": str(at),
            "path": paths.get(kind, f"{at}_{kind}"),
            "type": f"sentence_transformers.models.{kind}",
        }
        for at, kind in enumerate(modules)
    ]
    (folder / "1_Pooling").mkdir()
    (folder / "modules.json").write_text(json.dumps(rows))
    for name, content in files.items():
        (folder / {"pooling": "1_Pooling/config.json", "length": "sentence_bert_config.json"}.get(
            name, "config_sentence_transformers.json")).write_text(json.dumps(content))  # fmt: skip
    return folder


def opened(folder: Path) -> TransformersText:
    """Return a loaded encoder."""
    encoder = TransformersText(str(folder))
    encoder.load(encoder.prepare(), "cpu", 1)
    return encoder


def layer(folder: Path, text: str) -> np.ndarray:
    """Return the last layer by transformers' own tokeniser and network."""
    transformers = import_transformers()
    tokens = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))(
        text, return_tensors="pt"
    )
    network = transformers.AutoModel.from_pretrained(folder, local_files_only=True).eval()
    with torch.inference_mode():
        return np.asarray(network(tokens["input_ids"]).last_hidden_state[0].numpy())


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("mean_tokens", np.mean),
        ("cls_token", lambda x, axis: x[0]),
        ("max_tokens", np.max),
        ("lasttoken", lambda x, axis: x[-1]),
    ],
)
def test_the_pooling_is_the_folders(checkpoint: Path, tmp_path: Path, mode: str, expected: Any) -> None:
    """Of each of four kinds, with and without length 1; the settings say so."""
    pooling = {"word_embedding_dimension": 32, f"pooling_mode_{mode}": True, "pooling_mode_mean_sqrt_len_tokens": False}
    for number, modules in enumerate((MODULES, MODULES[:2])):
        folder = sentence_folder(checkpoint, tmp_path / str(number), modules, pooling=pooling)
        vector = opened(folder).embed(["a text"], "query")[0]
        theirs = expected(layer(folder, "a text"), axis=0)
        theirs = theirs / np.linalg.norm(theirs) if number == 0 else theirs
        np.testing.assert_allclose(vector, theirs, atol=1e-5)
        model = TransformersText(str(folder)).prepare()
        assert model.settings["unit_length"] is (number == 0)
        assert model.random


def test_prompts_and_length_are_the_folders(checkpoint: Path, tmp_path: Path) -> None:
    """Each role has its own; a long text is divided at the folder's number of tokens."""
    folder = sentence_folder(
        checkpoint, tmp_path, MODULES, pooling={"pooling_mode_mean_tokens": True}, length={"max_seq_length": 12},
        prompts={"prompts": {"query": "find: ", "passage": "page: "}, "default_prompt_name": "query"},
    )  # fmt: skip
    model = TransformersText(str(folder)).prepare()
    assert model.settings["max_tokens"] == 12
    assert (model.settings["prompt_query"], model.settings["prompt_document"]) == ("find: ", "page: ")
    encoder = opened(folder)
    for role, prompt in (("query", "find: "), ("document", "page: "), ("sentence", "")):
        theirs = layer(folder, f"{prompt}a text").mean(axis=0)
        np.testing.assert_allclose(encoder.embed(["a text"], role)[0], theirs / np.linalg.norm(theirs), atol=1e-5)
    assert [
        len(part) for part in encoder._tokeniser.parts("one two three four five six seven eight nine ten eleven")
    ] == [7, 8]


def test_a_plain_checkpoint_is_pooled_by_the_mean(checkpoint: Path, tmp_path: Path) -> None:
    """In a folder; every file that decides a vector takes part in the hash."""
    theirs = layer(checkpoint, "a text").mean(axis=0)
    np.testing.assert_allclose(opened(checkpoint).embed(["a text"], "query")[0], theirs, atol=1e-5)
    plain = TransformersText(str(checkpoint)).prepare()
    assert (plain.name, plain.settings["max_tokens"]) == ("transformers-text:local:toy", 40)
    one = sentence_folder(checkpoint, tmp_path / "1", MODULES, pooling={"pooling_mode_mean_tokens": True})
    other = sentence_folder(checkpoint, tmp_path / "2", MODULES, pooling={"pooling_mode_cls_token": True})
    assert len({plain.sha256, *(TransformersText(str(folder)).prepare().sha256 for folder in (one, other))}) == 3


@pytest.mark.parametrize(
    ("modules", "pooling", "match"),
    [
        (["Transformer", "Pooling", "Dense"], {"pooling_mode_mean_tokens": True}, "got Transformer, Pooling, Dense"),
        (["Pooling"], {"pooling_mode_mean_tokens": True}, "expected the modules Transformer"),
        (MODULES, {}, "expected one of the poolings .* got none"),
        (MODULES, {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}, "expected one of the poolings"),
        (MODULES, {"pooling_mode_weightedmean_tokens": True}, "got pooling_mode_weightedmean_tokens"),
    ],
)
def test_what_is_not_computed_here_is_refused(
    checkpoint: Path, tmp_path: Path, modules: list[str], pooling: dict[str, bool], match: str
) -> None:
    """Never a vector by another pooling than the model's."""
    folder = sentence_folder(checkpoint, tmp_path, modules, pooling=pooling)
    with pytest.raises(MissingModel, match=match):
        TransformersText(str(folder)).prepare()


def test_a_model_must_be_named() -> None:
    """There is no usual one."""
    with pytest.raises(ApplicationError, match="transformers-text:OWNER/NAME@REVISION or transformers-text:DIR"):
        TransformersText().prepare()


class TestTfIdf:
    """Term vectors."""

    def test_cosines_of_words(self) -> None:
        """Known by hand: two of three words in common, counts by 1 + ln, nothing in common, nothing at all."""
        encoder = TfIdf()
        encoder.load(encoder.prepare(), "cpu", 1)
        one, same, other, twice, none = encoder.embed(
            ["the red fox", "Fox, RED: dog!", "blue sky", "red red fox", "…"], "query"
        )
        assert one.shape == (DIMENSIONS,)
        assert one @ same == pytest.approx(2 / 3, abs=1e-6)
        assert one @ other == pytest.approx(0, abs=1e-6)
        weight = 1 + np.log(2)
        assert one @ twice == pytest.approx((weight + 1) / np.sqrt(3 * (weight**2 + 1)), abs=1e-6)
        assert not none.any()

    def test_a_table_of_weights(self, tmp_path: Path) -> None:
        """A word counts as the table says, one that it lacks as its rarest; another table is another model."""
        file = tmp_path / "idf.csv"
        file.write_text("id,weight\nthe,0\nred,3\nfox,4\n")
        encoder = TfIdf(str(file))
        model = encoder.prepare()
        assert model.sha256 != TfIdf().prepare().sha256
        encoder.load(model, "cpu", 1)
        one, fox, new = encoder.embed(["the red fox", "fox", "red unheard"], "query")
        assert one @ fox == pytest.approx(4 / 5, abs=1e-6)
        assert new @ one == pytest.approx(3 / 5 * 3 / 5, abs=1e-6)

    @pytest.mark.parametrize(
        "content", ["", "a,b\n1,2\n", "id,weight\nx,nan\n", "id,weight\nx,many\n", "id,weight\nx\n"]
    )
    def test_a_table_that_is_none(self, tmp_path: Path, content: str) -> None:
        """One sentence."""
        file = tmp_path / "idf.csv"
        file.write_text(content)
        with pytest.raises(MissingModel, match=r"^tf-idf: "):
            TfIdf(str(file)).prepare()
