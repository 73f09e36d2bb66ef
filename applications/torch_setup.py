"""Sets torch up for the models of probes: no TF32, deterministic algorithms, number of threads."""

from __future__ import annotations

import torch


def set_up_torch(threads: int) -> None:
    """Set up this process: ``threads`` on a CPU; on an accelerator no TF32 and no search for the fastest algorithm."""
    torch.set_num_threads(max(1, threads))
    # TF32 keeps 10 of float32's 23 bits of mantissa
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.deterministic = True
    # the search picks the fastest algorithm by timing, and algorithms round differently
    torch.backends.cudnn.benchmark = False
