"""Families of chats that transformers has, as data; facts are those of the classes of transformers 5.23."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Form = Literal["parts", "placeholder", "encoded"]
"""How a sound enters the chat template: a part ``{"type": "audio"}`` of the content; a token inside the text, for
templates that take texts alone; a WAV in base64, for tokenisers of mistral-common."""


@dataclass(frozen=True, slots=True)
class Family:
    """What the adapter must know of one family."""

    name: str
    """Whose prompts it is asked with."""
    model_type: str
    """Of ``config.json``."""
    network: str
    """Class of transformers."""
    processor: str
    """Class of transformers."""
    longest_s: float
    """Longest sound; transformers cuts longer ones silently, or fills memory."""
    files: tuple[str, ...] = ("tokenizer_config.json", "tokenizer.json")
    """Needed beside configuration and weights."""
    packages: tuple[str, ...] = ()
    """Modules that its classes import besides torch and transformers."""
    form: Form = "parts"
    placeholder: str = ""
    """Token of a sound, for ``placeholder``."""
    sound_adapter: str = ""
    """Folder of the low-rank weights that sounds need, with ``adapter_config.json``."""


DTYPES = ("bfloat16", "float16", "float32")
"""Precisions that a chat computes in."""
ADAPTER = ("adapter_config.json", "adapter_model.safetensors")
_PICTURES = ("torchvision", "PIL")
_ROWS = (
    # Whisper's extractor keeps the first 30 s.
    Family("qwen2_audio", "qwen2_audio", "Qwen2AudioForConditionalGeneration", "Qwen2AudioProcessor", 30.0),
    # The part that listens and writes alone: the whole model's loader wants a table of voices, and reports no gaps.
    Family(
        "qwen2_5_omni", "qwen2_5_omni", "Qwen2_5OmniThinkerForConditionalGeneration", "Qwen2_5OmniProcessor",
        300.0, packages=_PICTURES,
    ),
    Family(
        "qwen3_omni", "qwen3_omni_moe", "Qwen3OmniMoeThinkerForConditionalGeneration", "Qwen3OmniMoeProcessor",
        300.0, packages=_PICTURES,
    ),
    # Parts of 30 s; the limit is the publisher's advice for questions about a sound, 40 minutes.
    Family(
        "voxtral", "voxtral", "VoxtralForConditionalGeneration", "VoxtralProcessor", 2400.0,
        files=("tekken.json", "preprocessor_config.json"), packages=("mistral_common",), form="encoded",
    ),
    Family(
        "audio_flamingo_3", "audioflamingo3", "AudioFlamingo3ForConditionalGeneration", "AudioFlamingo3Processor", 600.0
    ),
    Family(
        "granite_speech", "granite_speech", "GraniteSpeechForConditionalGeneration", "GraniteSpeechProcessor", 300.0,
        packages=("torchaudio",), form="placeholder", placeholder="<|audio|>",
    ),
    Family(
        "phi4_multimodal", "phi4_multimodal", "Phi4MultimodalForCausalLM", "Phi4MultimodalProcessor", 300.0,
        packages=(*_PICTURES, "peft"), form="placeholder", placeholder="<|audio|>", sound_adapter="speech-lora",
    ),
    # 188 tokens a sound, whatever its length.
    Family(
        "gemma3n", "gemma3n", "Gemma3nForConditionalGeneration", "Gemma3nProcessor", 30.0, packages=(*_PICTURES, "timm")
    ),
)  # fmt: skip
FAMILIES: Mapping[str, Family] = {row.model_type: row for row in _ROWS}
"""By ``model_type``."""
