"""The encoder of BERT in numpy, for one text at a time: layers after Devlin et al., BERT, NAACL 2019.

Reads checkpoints of transformers' ``BertModel`` with learnt positions and the exact GELU. One text at a time, without
padding, so that a vector does not depend on the texts beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import MissingModel

Array = NDArray[np.float32]

EXPECTED = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
_HALF, _ROOT_HALF = np.float32(0.5), np.float32(np.sqrt(0.5))


@dataclass(frozen=True, slots=True)
class _Linear:
    """``x @ weight + bias``; the weight lies transposed, as the product reads it."""

    weight: Array
    bias: Array

    def __call__(self, x: Array) -> Array:
        product: Array = x @ self.weight
        product += self.bias
        return product


@dataclass(frozen=True, slots=True)
class _Norm:
    """Layer normalisation over the last axis."""

    weight: Array
    bias: Array
    epsilon: np.float32

    def __call__(self, x: Array) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        scaled: Array = centred * (self.weight / np.sqrt(variance + self.epsilon))
        scaled += self.bias
        return scaled


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer: attention and two linear layers, each added to its input and normalised."""

    projections: _Linear
    """Queries, keys and values in one product."""
    attended: _Linear
    attended_norm: _Norm
    inner: _Linear
    outer: _Linear
    outer_norm: _Norm
    heads: int

    def __call__(self, x: Array) -> Array:
        x = self.attended_norm(x + self.attended(self._attention(x)))
        return self.outer_norm(x + self.outer(_gelu(self.inner(x))))

    def _attention(self, x: Array) -> Array:
        tokens, width = x.shape
        # (3, heads, tokens, width of a head)
        query, key, value = self.projections(x).reshape(tokens, 3, self.heads, -1).transpose(1, 2, 0, 3)
        scores = query @ key.transpose(0, 2, 1)
        # Vaswani et al., 2017, equation 1
        scores *= np.float32(1 / np.sqrt(width // self.heads))
        # the softmax is the same without it, but exp overflows float32 from 89 on
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return np.asarray((scores @ value).transpose(1, 0, 2).reshape(tokens, width), np.float32)


def _gelu(x: Array) -> Array:
    from scipy.special import erf

    # x Φ(x) = x (1 + erf(x / √2)) / 2 (Hendrycks and Gimpel, arXiv:1606.08415), not the approximation by tanh
    gate = erf(x * _ROOT_HALF)
    gate += 1
    x *= _HALF
    x *= gate
    return x


class Bert:
    """The encoder; call it with token ids."""

    def __init__(self, tensors: Mapping[str, Array], config: Mapping[str, Any]) -> None:
        """Take a checkpoint's tensors and configuration. Raises MissingModel for those of another network."""
        for key, value in EXPECTED.items():
            if config.get(key, value) != value:
                raise MissingModel(f"config.json: expected {key} {value}, got {config[key]}; name another checkpoint")
        try:
            self._epsilon = np.float32(config["layer_norm_eps"])
            self._words = tensors["embeddings.word_embeddings.weight"]
            # One text has one segment, number 0.
            self._places = (
                tensors["embeddings.position_embeddings.weight"] + tensors["embeddings.token_type_embeddings.weight"][0]
            )
            self._norm = self._norm_of(tensors, "embeddings.LayerNorm")
            self._layers = [
                self._layer(tensors, f"encoder.layer.{number}.", int(config["num_attention_heads"]))
                for number in range(int(config["num_hidden_layers"]))
            ]
        except KeyError as error:
            raise MissingModel(f"the checkpoint is no BERT of its config.json: it has no {error}") from error
        except (TypeError, ValueError) as error:
            raise MissingModel(f"config.json: expected the sizes of a BERT, got others: {error}") from error

    def embedded(self, tokens: Sequence[int]) -> Array:
        """Return the embeddings of word pieces before the network, ``(tokens, width)``."""
        found: Array = self._words[np.asarray(tokens)]
        return found

    def __call__(self, tokens: Sequence[int], weights: Array | None = None) -> Array:
        """Return the last layer of a text, ``(tokens, width)``; ``weights`` ``(tokens,)`` multiply the embeddings."""
        words = self.embedded(tokens) if weights is None else self.embedded(tokens) * weights[:, None]
        x = self._norm(words + self._places[: len(tokens)])
        for layer in self._layers:
            x = layer(x)
        return x

    def _layer(self, tensors: Mapping[str, Array], name: str, heads: int) -> _Layer:
        attention = f"{name}attention."
        return _Layer(
            projections=_linear(tensors, *(f"{attention}self.{part}" for part in ("query", "key", "value"))),
            attended=_linear(tensors, f"{attention}output.dense"),
            attended_norm=self._norm_of(tensors, f"{attention}output.LayerNorm"),
            inner=_linear(tensors, f"{name}intermediate.dense"),
            outer=_linear(tensors, f"{name}output.dense"),
            outer_norm=self._norm_of(tensors, f"{name}output.LayerNorm"),
            heads=heads,
        )

    def _norm_of(self, tensors: Mapping[str, Array], name: str) -> _Norm:
        return _Norm(tensors[f"{name}.weight"], tensors[f"{name}.bias"], self._epsilon)


def _linear(tensors: Mapping[str, Array], *names: str) -> _Linear:
    """Join linear layers of the same input into one."""
    weight = np.concatenate([tensors[f"{name}.weight"] for name in names])
    return _Linear(np.ascontiguousarray(weight.T), np.concatenate([tensors[f"{name}.bias"] for name in names]))
