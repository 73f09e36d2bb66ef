"""Paraformer for Mandarin Chinese, by FunASR in a private environment: the Chinese recogniser of UltraEval-Audio.

``paraformer-zh`` of FunASR is SeACo-Paraformer of ModelScope; without hot words it decodes as Paraformer does, all
tokens at once, each the best one. No punctuation model and no voice detection run before or after. The published
weights have not been run in this project: tests build a small model of the package with random weights.
"""

from __future__ import annotations

import re
from typing import ClassVar

from codec_superb.applications.asr.segmenting import LONGEST_S, segments
from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Prediction, Samples, Setting
from codec_superb.applications.isolated.funasr import FunASRBackend
from codec_superb.applications.isolated.modelscope import ModelScopeRepository

_BETWEEN = re.compile(r"(?<=[\u3400-\u9fff]) +(?=[\u3400-\u9fff])")
"""FunASR puts a space between Chinese characters, which Chinese writing has not."""


class Paraformer(FunASRBackend):
    """Transcripts of Mandarin; ``paraformer:OWNER/NAME@REVISION`` or ``paraformer:/folder`` for another checkpoint."""

    label: ClassVar[str] = "paraformer"
    default_repository: ClassVar[ModelScopeRepository] = ModelScopeRepository(
        "iic/speech_seaco_paraformer_large_asr_nat-zh-cn-16k-common-vocab8404-pytorch", "v2.0.4"
    )
    kinds: ClassVar[tuple[str, ...]] = ("SeacoParaformer", "BiCifParaformer", "Paraformer")
    files: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("config.yaml",), ("model.pt",), ("tokens.json", "tokens.txt"), ("am.mvn",),
    )  # fmt: skip

    def settings(self) -> dict[str, Setting]:
        """Return the decoding settings."""
        return {"decoding": "greedy, all tokens at once", "hot_words": "none", "longest_segment_s": LONGEST_S}

    def answer(self, samples: Samples) -> Prediction:
        """Transcribe a sound, a long one in parts divided at quiet places."""
        texts = [self.ask(part) for part in segments(samples, self.rate)]
        if not all(isinstance(text, str) for text in texts):
            raise PredictionFailed("expected a transcript, the model gave numbers")
        return _BETWEEN.sub("", " ".join(str(text).strip() for text in texts).strip())
