"""A real entropy coder of tokens: the range coder of asymmetric numeral systems of ``constriction``, and the model.

J. Duda, "Asymmetric numeral systems", arXiv:1311.2540; R. Bamler, "Understanding Entropy Coding With Asymmetric Numeral
Systems", arXiv:2201.01741. Decoded again the bits give the same tokens, which is checked for every clip.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import ApplicationError, MissingPackage
from codec_superb.applications.tokens.context_model import ContextModel, Predicted
from codec_superb.applications.tokens.matches import Tokens
from codec_superb.missing_package import not_installed


class Coded(NamedTuple):
    """A clip's tokens, entropy-coded."""

    words: NDArray[np.uint32]
    """What the coder wrote."""
    bits: int
    """Of the words, without zeros before the first digit of the last one."""
    ideal: NDArray[np.float64]
    """The model's own code length in bits, of each codebook."""


def encode(found: Predicted, codebooks: int) -> Coded:
    """Write the digits of a clip by their probabilities. Raises MissingPackage without ``constriction``."""
    stack, model = _library()
    coder = stack.AnsCoder()
    # a stack: what is written last is read first
    coder.encode_reverse(found.digits.astype(np.int32), model.Bernoulli(perfect=False), found.chances)
    return Coded(coder.get_compressed(), int(coder.num_valid_bits()), found.bits(codebooks))


def decode(words: NDArray[np.uint32], frames: int, model: ContextModel) -> NDArray[np.int64]:
    """Return the tokens ``(codebooks, frames)`` of what :func:`encode` wrote of ``model``'s predictions."""
    stack, models = _library()
    coder = stack.AnsCoder(words)
    bernoulli = models.Bernoulli
    return model.recover(frames, lambda chance: int(coder.decode(bernoulli(chance, perfect=False))))


def coded(tokens: Tokens, model: ContextModel) -> Coded:
    """Encode a clip and decode it again. Raises ApplicationError where other tokens come back."""
    found = encode(model.predict(tokens), len(tokens))
    back = decode(found.words, tokens.shape[1], model)
    if not np.array_equal(back, tokens):
        raise ApplicationError("the entropy coder gave back other tokens than it was given: please report this")
    return found


def _library() -> tuple[Any, Any]:
    try:
        import constriction
    except ModuleNotFoundError as error:
        raise MissingPackage(not_installed("tokens.rate", error.name, extra="tokens")) from error
    return constriction.stream.stack, constriction.stream.model
