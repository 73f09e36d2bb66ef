"""What tiny checkpoints of chats have in common: sizes, a template, a tokeniser of bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from codec_superb.applications.transformers_checkpoint import import_transformers

TEXT = {
    "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 2, "max_position_embeddings": 4096,
}  # fmt: skip
EARS = {"num_mel_bins": 16, "max_source_positions": 1500}
PARTS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% for c in m.content %}"
    "{% if c.type == 'audio' %}SOUND{% else %}{{ c.text }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n"
)


def tokenizer(*special: str, named: Mapping[str, str] | None = None) -> Any:
    """Return one token a byte, and special ones behind them, of which some are attributes by name."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    transformers = import_transformers()
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({letter: at for at, letter in enumerate(letters)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<|im_start|>", "<|im_end|>", *special])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|im_end|>", extra_special_tokens=dict(named or {})
    )


Made = tuple[Any, Callable[[Path], Any]]
