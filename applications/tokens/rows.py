"""The rows of ``tokens.stability`` and ``tokens.rate``. Imports no packages, like the table."""

from __future__ import annotations

from math import inf

from codec_superb.applications.probe import Field, Probe, ProbeMetric
from codec_superb.metrics.table import CATEGORIES

_HERE = "codec_superb.applications.tokens"
_FIGURES = f"{_HERE}.figures"
OWN = (("codec", "own"), ("sides", "reference"))
"""Options of a probe that the run's own codec answers (``pipeline/probing/own_codec.py``), about references alone."""
_COUNTS = Field("counts", 0, whole=True)
_TOKENS = Field("tokens", 1, whole=True)


def _same(key: str, words: str, name: str, definition: str) -> ProbeMetric:
    return ProbeMetric(
        f"tokens_{key}_pct", f"Same tokens: {words}", "%", True, 0.0, 100.0, 1, definition, f"{_FIGURES}:percentage",
        name,
    )  # fmt: skip


_STABILITY = (
    _same(
        "recode", "coded twice", "match:recode_2:all",
        "Tokens that are the same when the decoded sound is coded a second time, over all codebooks.",
    ),
    _same("recode_first", "coded twice, first codebook", "match:recode_2:1", "As above, of the first codebook."),
    _same("recode_5", "coded five times", "match:recode_5:all", "As above, of the fifth coding, after four decodings."),
    _same(
        "shift_half", "half a frame later", "match:shift_half:all",
        "Tokens that are the same with half a frame of silence before the sound, over all codebooks.",
    ),
    _same(
        "shift_frame", "a frame later", "match:shift_frame:all",
        "Tokens that are the same, one frame later, with a frame of silence before the sound, over all codebooks.",
    ),
    _same(
        "noise_20", "noise at 20 dB", "match:noise_20:all",
        "Tokens that are the same with white noise 20 dB below the clip's power, over all codebooks.",
    ),
    _same(
        "noise_20_first", "noise at 20 dB, first codebook", "match:noise_20:1", "As above, of the first codebook.",
    ),
    _same("quieter", "6 dB quieter", "match:quieter:all", "Tokens that are the same 6 dB quieter, over all codebooks."),
    _same("mp3", "through MP3", "match:mp3:all", "Tokens that are the same after MP3 at 128 kbps, over all codebooks."),
    _same("chance", "by chance", "chance:all", "Tokens of unrelated sounds that are the same: Σ p² of each codebook."),
    ProbeMetric(
        "tokens_edits_pct", "Edits of tokens: coded twice", "%", False, 0.0, inf, 1,
        "Edits between the first codebook's sequences of both codings (Levenshtein) over its tokens.",
        f"{_FIGURES}:edit_rate", "edits:recode_2", bounds=(0.0, 200.0),  # the second coding is no longer than twice
    ),
)  # fmt: skip
MOST_ENTRIES = 1e12
"""Of a codebook, as a card may say."""
MOST_BITS = 80.0
"""Of a token: twice log2 of those entries, since a coder or a model may do worse than none."""
MOST_KBPS = 1e6
"""As a card may say."""


def _rate(key: str, words: str, target: str, name: str, definition: str, unit: str = "bit") -> ProbeMetric:
    return ProbeMetric(
        f"tokens_{key}",
        f"Tokens: {words}",
        unit,
        False,
        0.0,
        inf,
        3,
        definition,
        f"{_FIGURES}:{target}",
        name,
        bounds=(0.0, MOST_KBPS if unit == "kbps" else MOST_BITS),
    )


_RATE = (
    _rate(
        "entropy_kbps", "entropy-coded bitrate", "kbps", "bits:coded:all",
        "Bits that an entropy coder takes with an adaptive context model trained on other clips; before it: log2 of "
        "each codebook's entries.", "kbps",
    ),
    _rate(
        "coded_bits", "entropy-coded bits a token", "per_token", "bits:coded:all",
        "The same bits over all tokens of all codebooks.",
    ),
    _rate(
        "unigram_bits", "unigram entropy a token", "per_token", "bits:unigram:all",
        "Empirical entropy of each codebook, averaged over the codebooks; biased low for few tokens.",
    ),
    _rate(
        "after_bits", "entropy given the frame before", "per_token", "bits:after:all",
        "The same given the codebook's token in the frame before.",
    ),
    _rate(
        "beside_bits", "entropy given the codebook before", "per_token", "bits:beside:all",
        "The same given the token of the codebook before in the frame.",
    ),
    ProbeMetric(
        "tokens_perplexity", "Tokens: perplexity", "", True, 1.0, inf, 1,
        "2 to the mean unigram entropy: equally likely entries with the same entropy.", f"{_FIGURES}:perplexity",
        "bits:unigram:all", bounds=(1.0, MOST_ENTRIES),
    ),
    ProbeMetric(
        "tokens_use_pct", "Tokens: entries used", "%", True, 0.0, 100.0, 1,
        "Entries of all codebooks that occur in some clip; the others are dead here.", f"{_FIGURES}:percentage",
        "use:all", interval=False,
    ),
)  # fmt: skip


def token_probes() -> tuple[Probe, ...]:
    """Return the rows; the codec of the run itself answers."""
    return (
        Probe(
            key="tokens_stability",
            label="Stability of tokens",
            needs=(),
            categories=CATEGORIES,
            shared=(_COUNTS, _TOKENS),
            sided=(),
            pairs="counts",
            metrics=_STABILITY,
            version="1",
            paper="codes of a second coding: arXiv:2410.11025; AudioCodecBench: arXiv:2509.02349",
            backend="codec-disturbed",
            scorer=f"{_HERE}.stability:score",
            takes=("disturbed",),
            group="tokens",
            primary="tokens_recode_pct",
            options=OWN,
        ),
        Probe(
            key="tokens_rate",
            label="Rate of tokens",
            needs=(),
            categories=CATEGORIES,
            shared=(_COUNTS, _TOKENS),
            sided=(),
            pairs="counts",
            metrics=_RATE,
            version="1",
            paper="constriction: R. Bamler, arXiv:2201.01741; context mixing: M. Mahoney, 2005",
            backend="codec-codes",
            scorer=f"{_HERE}.rate:score",
            takes=("codes",),
            group="tokens",
            primary="tokens_entropy_kbps",
            options=OWN,
        ),
    )
