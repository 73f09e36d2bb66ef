"""Read the tokens of a clip that another program wrote, ``.npy`` of NumPy or ``.pt`` of torch; no file is trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codec_superb.pipeline.errors import PipelineError

TOKEN_ENDINGS = frozenset({".npy", ".pt"})
MOST_CODEBOOKS = 64
"""More codebooks than any published codec has: an array with more rows is taken for a transposed one."""
_LARGEST = np.iinfo(np.int32).max


class WrongTokens(Exception):
    """A file holds no tokens of shape ``(codebooks, frames)``; the text says what it holds and what to do."""


def read_tokens(path: Path) -> NDArray[np.integer[Any]]:
    """Return the tokens ``(codebooks, frames)``; a leading axis of one clip is dropped, one axis is one codebook.

    Raises WrongTokens, and PipelineError where torch is needed and not installed.
    """
    tokens = _load_torch(path) if path.suffix.lower() == ".pt" else _load_numpy(path)
    if not np.issubdtype(tokens.dtype, np.integer):
        raise WrongTokens(f"{path.name}: expected whole numbers, got {tokens.dtype}: save the codes as integers")
    if tokens.ndim == 3 and tokens.shape[0] == 1:  # noqa: PLR2004 - a batch of one clip
        tokens = tokens[0]
    if tokens.ndim == 1:
        tokens = tokens[np.newaxis]
    if tokens.ndim != 2 or not tokens.size:  # noqa: PLR2004 - codebooks and frames
        raise WrongTokens(f"{path.name}: expected the shape (codebooks, frames), got {tokens.shape}")
    if tokens.min() < 0 or tokens.max() > _LARGEST:
        raise WrongTokens(f"{path.name}: expected entries of 0 or more, got {tokens.min()} to {tokens.max()}")
    return tokens.astype(np.int32)


def codebooks_of(path: Path) -> int:
    """Return the number of codebooks in a file. Raises WrongTokens for none, PipelineError without torch."""
    tokens = read_tokens(path)
    if len(tokens) > MOST_CODEBOOKS:
        raise WrongTokens(
            f"{path.name}: expected the shape (codebooks, frames), got {tokens.shape}: transpose it, or state the "
            "size of each codebook"
        )
    return len(tokens)


def _load_numpy(path: Path) -> NDArray[Any]:
    try:
        # neither pickles nor archives; mapped: a header that promises more than the file holds takes no memory
        return np.array(np.lib.format.open_memmap(path, mode="r"))
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise WrongTokens(f"{path.name} is no array as numpy.save writes it: {reason}") from error


def _load_torch(path: Path) -> NDArray[Any]:
    try:
        import torch
    except ImportError as error:
        raise PipelineError(
            f"{path.name} needs torch, which is not installed: save the tokens with numpy.save, or pip install torch"
        ) from error
    try:
        # weights_only: a pickle may run any code
        loaded = torch.load(path, map_location="cpu", weights_only=True)
        if isinstance(loaded, dict | list | tuple) and len(loaded) == 1:
            loaded = next(iter(loaded.values() if isinstance(loaded, dict) else loaded))
        if isinstance(loaded, torch.Tensor):
            return np.asarray(loaded.detach().numpy())  # there is none of bfloat16
    except Exception as error:
        raise WrongTokens(f"{path.name} is no tensor of whole numbers: {' '.join(str(error).split())[:200]}") from error
    raise WrongTokens(f"{path.name}: expected one tensor of tokens, got {type(loaded).__name__}")
