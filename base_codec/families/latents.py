"""Latents of a model of transformers: what its encoder hands to its quantizer, seen on its way there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def recorded(quantizer: Any, method: str) -> Iterator[list[torch.Tensor]]:
    """Note the first argument of each call of a quantizer's method, so that latents are those of the tokens.

    Each model of transformers puts its encoder together in another way, and none returns the latents before they are
    quantised.
    """
    given: list[torch.Tensor] = []
    own = getattr(quantizer, method)

    def noting(latents: torch.Tensor, *arguments: Any, **options: Any) -> Any:
        given.append(latents)
        return own(latents, *arguments, **options)

    # an attribute of the object goes before the method of its class
    setattr(quantizer, method, noting)
    try:
        yield given
    finally:
        delattr(quantizer, method)
