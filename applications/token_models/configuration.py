"""Configurations of token models (``models.yaml``)."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Annotated, Literal

import yaml
from pydantic import AfterValidator, Field, ValidationInfo

from codec_superb.applications.training.schedule import Positive, Schedule, Share, named

NEEDED = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads")
FURTHER = ("rope_theta",)


def _fitting(sizes: dict[str, int], info: ValidationInfo) -> dict[str, int]:
    """Refuse what transformers' configuration would take in silence, or fail on in the middle of a layer."""
    wrong = [*(name for name in sizes if name not in (*NEEDED, *FURTHER)), *(set(NEEDED) - sizes.keys())]
    if wrong:
        found = ", ".join(sizes) or "nothing"
        raise ValueError(f"{info.field_name}: expected {', '.join(NEEDED)}, perhaps {', '.join(FURTHER)}; got {found}")
    hidden, heads, keys = (sizes[name] for name in ("hidden_size", "num_attention_heads", "num_key_value_heads"))
    if hidden % (2 * heads) or heads % keys:
        raise ValueError(
            f"{info.field_name}: expected a hidden_size that is a multiple of twice the num_attention_heads, and these "
            f"a multiple of num_key_value_heads, got {hidden}, {heads} and {keys}"
        )
    return sizes


Sizes = Annotated[dict[str, Positive], AfterValidator(_fitting)]


class TokenModelConfiguration(Schedule):
    """A decoder-only transformer over tokens, and how it is trained."""

    model: str
    """Name, which results carry."""
    shape: Sizes
    """Sizes by the names of a Qwen2 configuration of transformers."""
    depth: Sizes
    """The same of the model across the codebooks of a frame, for patterns that have one."""
    joined: Literal["summed", "projected"] = "summed"
    """How vectors of a step's tokens become one: their sum, or side by side through a linear layer."""
    pattern: str
    """Usual pattern of codebooks."""
    context: Positive
    """Steps of the longest context: frames of the codec, of which an interleaved pattern has several steps each."""
    passes: Annotated[float, Field(gt=0)]
    """Times that training frames are met, on average, at most: of little sound there are fewer steps."""
    dropout: Share = 0.0
    """Of the vectors that go into the transformer and come out of it, in training."""

    def steps_for(self, frames: int, window: int) -> int:
        """Return the steps of a training on ``frames`` frames, in windows of ``window`` frames."""
        wanted = -(-self.passes * frames // (self.batch * window))
        return int(min(self.steps, max(wanted, 1)))


@cache
def configurations() -> dict[str, TokenModelConfiguration]:
    """Return the configurations by name."""
    text = (resources.files(__package__) / "models.yaml").read_text(encoding="utf-8")
    found = [TokenModelConfiguration.model_validate(each) for each in yaml.safe_load_all(text)]
    return {each.model: each for each in found}


def configuration_named(name: str) -> TokenModelConfiguration:
    """Return a configuration by its name or its file ``.yaml``. Raises UnknownApplication, ApplicationError."""
    return named(name, configurations(), TokenModelConfiguration, "token model")
