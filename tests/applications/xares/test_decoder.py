"""The decoder: its size, its loss, and what padding must not change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples

from codec_superb.applications.transformers_checkpoint import import_transformers
from codec_superb.applications.xares.configuration import LowRank, configuration_named
from codec_superb.applications.xares.decoder import Bytes, Question, SoundDecoder
from codec_superb.applications.xares.language_model import (
    LanguageModel,
    find_language_model,
    make_decoder,
    with_low_rank,
)

TINY = configuration_named("tiny")
SHAPE_OF_SMOLLM2 = {
    "vocab_size": 49152, "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
    "num_attention_heads": 9, "num_key_value_heads": 3, "tie_word_embeddings": True,
}  # fmt: skip


def _decoder(dimensions: int = 6, **changed: Any) -> SoundDecoder:
    configuration = TINY.model_copy(update=changed)
    return make_decoder(find_language_model(configuration), configuration, dimensions, seed=3).eval()


def _questions(*lengths: int, dimensions: int = 6) -> list[Question]:
    rng = np.random.default_rng(0)
    return [
        Question(rng.standard_normal((length, dimensions)).astype(np.float32), f"What is it? {length}")
        for length in lengths
    ]


def test_the_tiny_decoder_has_the_size_that_is_documented() -> None:
    """443,648 weights with a projector of 384 numbers, all of them trained."""
    decoder = _decoder(384)
    assert sum(value.numel() for value in decoder.parameters() if value.requires_grad) == 443_648


def test_the_published_configuration_trains_2_442_240_of_134_515_008_weights() -> None:
    """SmolLM2-135M's shape, counted without memory for it: frozen, low-rank, and a projector of 512 numbers."""
    transformers = import_transformers()
    published = configuration_named("published")
    assert published.low_rank == LowRank(rank=8, alpha=32, dropout=0.1)
    with torch.device("meta"):
        language = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHAPE_OF_SMOLLM2))
        assert sum(value.numel() for value in language.parameters()) == 134_515_008
        decoder = SoundDecoder(with_low_rank(language, published.low_rank), Bytes(), 512, published)
    learnt = {name: value.numel() for name, value in decoder.named_parameters() if value.requires_grad}
    assert sum(size for name, size in learnt.items() if "lora" in name) == 2_442_240
    assert sum(size for name, size in learnt.items() if name.startswith("projector")) == 295_488
    assert len(learnt) == sum("lora" in name for name in learnt) + 2


def test_low_rank_weights_leave_the_language_model_frozen() -> None:
    """One step moves the low-rank weights and the projector, and nothing else."""
    decoder = _decoder(low_rank=LowRank(rank=2, alpha=4))
    before = {name: value.clone() for name, value in decoder.state_dict().items()}
    optimiser = torch.optim.AdamW([value for value in decoder.parameters() if value.requires_grad], lr=0.1)
    decoder.train()
    decoder(_questions(5), ["yes"]).backward()
    optimiser.step()
    moved = {name for name, value in decoder.state_dict().items() if not torch.equal(value, before[name])}
    assert moved
    assert all("lora" in name or name.startswith("projector") for name in moved)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5))
@examples(40)
def test_the_loss_of_a_batch_is_that_of_its_sounds(lengths: list[int]) -> None:
    """Padding to the longest changes nothing: positions follow the mask."""
    decoder = _decoder()
    questions, targets = _questions(*lengths), ["a" * (1 + length % 4) for length in lengths]
    with torch.inference_mode():
        together = float(decoder(questions, targets))
        alone = sum(float(decoder([of], [target])) for of, target in zip(questions, targets, strict=True))
    assert together == pytest.approx(alone, rel=1e-5)


def test_a_batch_answers_what_its_sounds_answer_alone() -> None:
    """In generation positions follow the mask too; logits of a model that has not differ by tenths."""
    decoder = _decoder()
    questions = _questions(3, 17, 40, 1)
    assert decoder.answer(questions) == [decoder.answer([of])[0] for of in questions]


def test_the_loss_is_on_target_and_end_alone() -> None:
    """A loss of one token more for each byte of the target; the prompt's bytes cost nothing by themselves."""
    decoder = _decoder()
    (question,) = _questions(4)
    # with uniform logits each token costs log(258)
    for value in decoder.language.lm_head.parameters():
        torch.nn.init.zeros_(value)
    for target in ("", "a", "abc"):
        assert decoder.losses([question], [target]).item() == pytest.approx((len(target) + 1) * np.log(258), rel=1e-5)


def test_frames_are_pooled_and_scaled_as_configured() -> None:
    """Mean of four after standardising; the last frames are a mean of what is left, and a single frame is one."""
    decoder = _decoder()
    sounds = [of.frames for of in _questions(9, 6)]
    decoder.set_scale(sounds)
    joined = np.concatenate(sounds)
    found = decoder._projected(torch.from_numpy(sounds[0])).detach().numpy()
    scaled = (sounds[0] - joined.mean(axis=0)) / joined.std(axis=0)
    pooled = np.stack([scaled[:4].mean(axis=0), scaled[4:8].mean(axis=0), scaled[8]])
    weight, bias = (value.detach().numpy() for value in (decoder.projector.weight, decoder.projector.bias))
    np.testing.assert_allclose(found, pooled @ weight.T + bias, atol=1e-5)
    assert decoder._projected(torch.from_numpy(sounds[0][:1])).shape == (1, 128)


def test_the_likeliest_class_is_chosen_with_its_end() -> None:
    """``ab`` is no worse for being the beginning of ``abc``: each ends with its own end token."""
    decoder = _decoder()
    (question,) = _questions(4)
    losses = decoder.losses([question] * 3, ["ab", "abc", "x"])
    assert decoder.best_of(question, ["ab", "abc", "x"]) == ["ab", "abc", "x"][int(losses.argmin())]


def test_bytes_read_what_they_write() -> None:
    """All of Unicode; half a sign becomes one that says so."""
    assert Bytes().decode(Bytes().encode("Straße 今天 🎵")) == "Straße 今天 🎵"
    assert Bytes().decode(Bytes().encode("今")[:2]) == "�"


def test_a_checkpoint_in_the_publishers_layout_is_loaded(tmp_path: Path) -> None:
    """A tiny Llama with a tokeniser, saved as SmolLM2 is published: its tokens, its end, LoRA on its layers."""
    transformers = import_transformers()
    tokenizers = pytest.importorskip("tokenizers")

    words = {word: number for number, word in enumerate(["<|endoftext|>", "[UNK]", "What", "cat", "dog", "yes"])}
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=plain, eos_token="<|endoftext|>").save_pretrained(tmp_path)
    shape = transformers.LlamaConfig(
        vocab_size=len(words), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2
    )
    transformers.LlamaForCausalLM(shape).save_pretrained(tmp_path)
    configuration = configuration_named("published").model_copy(update={"checkpoint": str(tmp_path)})
    found = find_language_model(configuration)
    assert found.sha256
    decoder = make_decoder(found, configuration, 6, seed=0).eval()
    assert decoder.tokenizer.encode("What cat") == [2, 3]
    assert decoder.tokenizer.end == 0
    assert np.isfinite(decoder(_questions(3), ["yes"]).item())
    assert isinstance(decoder.answer(_questions(3))[0], str)


def test_a_language_model_without_a_folder_has_no_hash() -> None:
    """Random weights are decided by configuration and seed."""
    assert find_language_model(TINY) == LanguageModel("tiny-llama-bytes", "", None, random=False)
    one, other = (make_decoder(find_language_model(TINY), TINY, 6, seed).projector.weight for seed in (1, 2))
    assert not torch.equal(one, other)
