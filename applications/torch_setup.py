"""Sets torch up for the models of probes (no TF32, deterministic algorithms, number of threads), and scales clips."""

from __future__ import annotations

import torch

_VARIANCE_FLOOR = 1e-7  # of Wav2Vec2FeatureExtractor (transformers)


def set_up_torch(threads: int) -> None:
    """Set up this process: ``threads`` on a CPU; on an accelerator no TF32 and no search for the fastest algorithm."""
    torch.set_num_threads(max(1, threads))
    # TF32 keeps 10 of float32's 23 bits of mantissa
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.deterministic = True
    # the search picks the fastest algorithm by timing, and algorithms round differently
    torch.backends.cudnn.benchmark = False


def unit_variance(clips: torch.Tensor) -> torch.Tensor:
    """Scale each of ``(clips, samples)`` to mean 0 and variance 1: Wav2Vec2FeatureExtractor with ``do_normalize``."""
    centred = clips - clips.mean(dim=1, keepdim=True)
    return centred / (centred.square().mean(dim=1, keepdim=True) + _VARIANCE_FLOOR).sqrt()
