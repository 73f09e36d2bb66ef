"""Finds and makes the language model of a decoder: a published checkpoint, or one of random weights."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import torch

from codec_superb.applications.errors import MissingModel
from codec_superb.applications.packages import require_packages
from codec_superb.applications.transformers_checkpoint import (
    TransformersCheckpoint,
    find_checkpoint,
    import_transformers,
)
from codec_superb.applications.xares.configuration import DecoderConfiguration, LowRank
from codec_superb.applications.xares.decoder import Bytes, Published, SoundDecoder, Tokenizer

EXTRA = "xares"
_FILES = ("tokenizer.json", "tokenizer_config.json")
_LONGEST = 8192
"""Positions of a model without a checkpoint: frames, prompt and answer."""


class LanguageModel(NamedTuple):
    """Identity and place of a language model."""

    name: str
    """As results name it."""
    sha256: str
    """Of the checkpoint's files; '' for random weights, which the seed decides."""
    folder: Path | None
    random: bool
    """Whether its checkpoint is marked as having untrained weights, which a test's has."""


def find_language_model(configuration: DecoderConfiguration, weights: Path | None = None) -> LanguageModel:
    """Find the language model; ``weights`` is a folder in place of the checkpoint that the configuration names.

    Raises MissingPackage with the install command, MissingModel with what to download and where to put it.
    """
    require_packages(f"xares decoder {configuration.decoder}", EXTRA, "torch", "transformers", "peft", "accelerate")
    if not configuration.checkpoint:
        return LanguageModel(f"{configuration.decoder}-llama-bytes", "", None, random=False)
    given = weights or configuration.checkpoint
    found: TransformersCheckpoint = find_checkpoint(
        f"xares decoder {configuration.decoder}", configuration.checkpoint, _FILES, given
    )
    return LanguageModel(found.source, found.sha256, found.folder, found.random)


def make_decoder(found: LanguageModel, configuration: DecoderConfiguration, dimensions: int, seed: int) -> SoundDecoder:
    """Return the decoder before its training, for frames of ``dimensions`` numbers; random weights follow the seed."""
    torch.manual_seed(seed)
    language, tokenizer = _loaded(found) if found.folder else _random(configuration)
    if configuration.low_rank is not None:
        language = with_low_rank(language, configuration.low_rank)
    return SoundDecoder(language, tokenizer, dimensions, configuration)


def with_low_rank(language: Any, low: LowRank) -> Any:
    """Freeze a language model, and put trained low-rank weights beside every linear layer but the output's."""
    from peft import LoraConfig, get_peft_model

    asked = LoraConfig(
        r=low.rank, lora_alpha=low.alpha, lora_dropout=low.dropout, bias="none", target_modules="all-linear",
        task_type="CAUSAL_LM",
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft 0.21 asks transformers 5.23 for a property by an old name
        return get_peft_model(language, asked)


def _random(configuration: DecoderConfiguration) -> tuple[Any, Tokenizer]:
    transformers: Any = import_transformers()
    tokenizer = Bytes()
    shape = transformers.LlamaConfig(
        vocab_size=tokenizer.size, max_position_embeddings=_LONGEST, bos_token_id=None, eos_token_id=tokenizer.end,
        pad_token_id=None, tie_word_embeddings=False, **configuration.shape,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(shape), tokenizer


def _loaded(found: LanguageModel) -> tuple[Any, Tokenizer]:
    transformers: Any = import_transformers()
    assert found.folder is not None
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(found.folder, local_files_only=True)
        language, report = transformers.AutoModelForCausalLM.from_pretrained(
            found.folder, local_files_only=True, dtype=torch.float32, output_loading_info=True
        )
    except (RuntimeError, ValueError, OSError) as error:
        raise MissingModel(f"{found.name} cannot be loaded as a language model: {error}; fetch it again") from error
    if report["missing_keys"]:
        raise MissingModel(f"{found.name} is no whole language model: it lacks {min(report['missing_keys'])}")
    return language, Published(tokenizer, language.config.vocab_size)
