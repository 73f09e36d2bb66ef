"""Compile the loops of all metrics, once: two processes that begin to test together would both compile them."""

from __future__ import annotations

import numpy as np

from codec_superb.metrics.score import score_pair
from codec_superb.metrics.table import METRICS

if __name__ == "__main__":
    noise = np.random.default_rng(0).standard_normal(32_000)
    score_pair(noise, noise[::-1], 16_000, list(METRICS))
