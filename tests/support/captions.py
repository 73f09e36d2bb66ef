"""FENSE's encoder and detector with random weights, in the layout of their publishers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from codec_superb.applications.transformers_checkpoint import import_transformers
from codec_superb.applications.understanding.measures.semantic import DETECTOR

WORDS = [
    "a", "dog", "barks", "cat", "meows", "rain", "falls", "on", "the", "roof", "and", "then", "man", "speaks", "loudly",
]  # fmt: skip
VOCABULARY = {word: at for at, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}


def _tokeniser(folder: Path) -> None:
    made_of = Tokenizer(models.WordPiece(VOCABULARY, unk_token="[UNK]"))
    made_of.normalizer = normalizers.BertNormalizer(lowercase=True)
    made_of.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made_of.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made_of.save(str(folder / "tokenizer.json"))


def _bert(folder: Path, seed: int) -> Any:
    folder.mkdir(parents=True)
    torch.manual_seed(seed)
    transformers = import_transformers()
    config = transformers.BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64,
    )  # fmt: skip
    network = transformers.BertModel(config).eval()
    network.embeddings.word_embeddings.weight.data.normal_()  # so that texts differ in direction
    config.save_pretrained(folder)
    _tokeniser(folder)
    return network


class CaptionModels(NamedTuple):
    """The networks as torch has them."""

    home: Path
    encoder: Any
    detector: Any
    head: torch.nn.Linear


def write_caption_models(home: Path) -> CaptionModels:
    """Write encoder and detector below ``models`` of a home."""
    encoder = _bert(home / "models" / "paraphrase-TinyBERT-L6-v2", 0)
    torch.save(encoder.state_dict(), home / "models" / "paraphrase-TinyBERT-L6-v2" / "pytorch_model.bin")
    lengths = home / "models" / "paraphrase-TinyBERT-L6-v2" / "sentence_bert_config.json"
    lengths.write_text(json.dumps({"max_seq_length": 8, "do_lower_case": False}))
    detector, head = _bert(home / "models" / "bert-base-uncased", 1), torch.nn.Linear(16, 5)
    inner = {f"encoder.{name}": value for name, value in detector.state_dict().items()}
    # older releases of transformers keep the positions' numbers too
    inner["encoder.embeddings.position_ids"] = torch.arange(64)[None]
    state = {**inner, **{f"clf.{name}": value for name, value in head.state_dict().items()}}
    whole = {"model_type": "bert-base-uncased", "num_classes": 5, "state_dict": state}
    torch.save(whole, home / "models" / DETECTOR)
    return CaptionModels(home, encoder, detector, head)
