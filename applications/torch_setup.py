"""Set torch up for the models of probes: float32 that is float32, the same algorithms each time, so many threads."""

from __future__ import annotations

import torch


def set_up_torch(threads: int) -> None:
    """Set up this process: ``threads`` on a CPU; on an accelerator no TF32 and no search for the fastest algorithm."""
    torch.set_num_threads(max(1, threads))
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
