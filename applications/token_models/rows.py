"""The row of ``tokens.lm``. Imports no packages, like the table."""

from __future__ import annotations

from math import inf

from codec_superb.applications.probe import Field, Probe, ProbeMetric
from codec_superb.applications.tokens.rows import MOST_BITS, MOST_KBPS, OWN
from codec_superb.metrics.table import CATEGORIES

_FIGURES = "codec_superb.applications.tokens.figures"
_BITS = "bits:lm:all"


def _figure(key: str, words: str, unit: str, target: str, definition: str) -> ProbeMetric:
    lowest = 1.0 if target == "perplexity" else 0.0
    most = {"perplexity": 2.0**MOST_BITS, "kbps": MOST_KBPS}.get(target, MOST_BITS)
    return ProbeMetric(
        f"tokens_lm_{key}", f"Tokens to a language model: {words}", unit, False, lowest, inf, 3, definition,
        f"{_FIGURES}:{target}", _BITS, bounds=(lowest, most),
    )  # fmt: skip


def model_probes() -> tuple[Probe, ...]:
    """Return the row; the codec of the run itself answers."""
    return (
        Probe(
            key="tokens_lm",
            label="Language model of tokens",
            needs=(),
            categories=CATEGORIES,
            shared=(Field("counts", 0, whole=True), Field("tokens", 0, whole=True)),
            sided=(),
            pairs="counts",
            metrics=(
                _figure(
                    "kbps",
                    "bitrate",
                    "kbps",
                    "kbps",
                    "Bits of held-out clips under a transformer trained on the other speakers and recordings, as an "
                    "ideal code takes them; before it: log2 of each codebook's entries.",
                ),
                _figure("bits", "bits a token", "", "per_token", "The same bits over all tokens of all codebooks."),
                _figure(
                    "perplexity",
                    "perplexity",
                    "",
                    "perplexity",
                    "2 to the power of bits a token: the equally likely entries that it is as hard to choose from.",
                ),
            ),
            version="1",
            paper=(
                "perplexity of tokens: AudioCodecBench, arXiv:2509.02349; patterns: arXiv:2306.05284; depth: "
                "arXiv:2203.01941"
            ),
            backend="codec-codes",
            scorer="codec_superb.applications.token_models.scoring:score",
            takes=("codes",),
            group="tokens",
            primary="tokens_lm_kbps",
            options=(*OWN, ("model", "tiny"), ("seed", "42")),
            of_codec=("steps", "token_model", "training_tokens", "weights_sha256"),
        ),
    )
