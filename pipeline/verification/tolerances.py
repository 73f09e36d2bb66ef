"""How far numbers that are run again may be off, as data: what rounding on another processor was seen to do.

Measured on the 75 clips of ``mini``: the code for AVX and FMA of FFmpeg, NumPy, the BLAS and the C library switched
off, and the encoder's input changed by half an LSB of 24 bits, three to five times; every run against every other one
of its codec.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

from codec_superb.pipeline.verification.statement import Tolerance

# Largest root mean square of the clips of other sound, all or of a category, fewer than ten as ten, in 174 pairs of
# runs of 16 codecs (AC-3, E-AC-3, Nellymoser, WMA, Vorbis, Codec2, Lyra, AMR-WB, Speex) and, of probes, 50 of 11: PESQ
# 0.030, STOI 0.005, ESTOI 0.0075, F0 correlation 0.26, SDR 0.011, SI-SDR 0.013, STFT and mel distance 0.015 and 0.011
# of their scales; DNSMOS 0.018, speaker similarity 0.003, cosines of trials 0.009, cost of stability 0.077. Word
# errors: by up to 7 of a clip, characters by 27. Means less 2 %, in standard errors of 1: of word errors 0.36 (of 16 of
# 22 clips up to 0.75), of one kind of them 0.76, of answers of YAMNet 0.89, where twice the spread is allowed. Single
# clips: PESQ 0.15, cosines 0.035; the pitch of one clip is defined or not. EER moved by 1.5 points, minDCF by 0.046,
# mean average precision by 3.4 points. Values of captions and judges were not measured.
OTHER_SOUND: Mapping[str, Tolerance] = {
    "bits": Tolerance(clip=0.05, mean=0.005, spread=0.002),
    "lag": Tolerance(clip=0.005, mean=0.0005, spread=0.001),
    "clipped": Tolerance(clip=0.5, mean=0.02, spread=0.1),
    "stft": Tolerance(clip=0.10, mean=0.01, spread=0.018),
    "mel": Tolerance(clip=0.10, mean=0.01, spread=0.014),
    "pesq": Tolerance(clip=0.20, mean=0.01, spread=0.035),
    "pesq_c2": Tolerance(clip=0.20, mean=0.01, spread=0.035),
    "stoi": Tolerance(clip=0.03, mean=0.005, spread=0.008),
    "estoi": Tolerance(clip=0.04, mean=0.005, spread=0.01),
    "f0corr": Tolerance(clip=1.0, mean=0.02, spread=0.3),
    "f0corr_praat": Tolerance(clip=1.0, mean=0.02, spread=0.3),
    "sdr": Tolerance(clip=0.10, mean=0.01, spread=0.016),
    "si_sdr": Tolerance(clip=0.10, mean=0.01, spread=0.016),
    "beyond": Tolerance(clip=2.5, mean=0.02, spread=0.4),
    "metric": Tolerance(clip=0.15, mean=0.01, spread=0.02),
    "probe": Tolerance(clip=0.15, mean=0.01, spread=0.02),
    "similarity": Tolerance(clip=0.03, mean=0.002, spread=0.008),
    "amount": Tolerance(clip=0.3, mean=0.02, spread=0.08),
    # Tokens of Lyra at 3.2, 6 and 9.2 kbps, on 75 clips with half an LSB of 24 bits at the encoder, six pairs of runs.
    # Root mean square of the clips, and mean: coded bits 0.011 and 0.0025, of a language model (16 clips) 0.023 and
    # 0.017, kept of a codebook 0.082 and 0.011, drift 0.22 and 0.061. Single clips: 0.035, 0.061, 0.26 and 0.9; an
    # entry comes or goes.
    "coded": Tolerance(clip=0.1, mean=0.003, spread=0.02),
    "share": Tolerance(clip=1.0, mean=0.01, spread=0.06),
    "drift": Tolerance(clip=2.0, mean=0.02, spread=0.3),
    "trial": Tolerance(clip=0.04, mean=0.002, spread=0.012),
    "figure": Tolerance(clip=0.05, mean=0.0, spread=0.0),
    "asv_eer_pct": Tolerance(clip=0.03, mean=0.0, spread=0.0),
    "asv_mindcf": Tolerance(clip=0.15, mean=0.0, spread=0.0),
    "errors": Tolerance(clip=0.25, mean=0.02, spread=0.4),
    "count": Tolerance(clip=0.25, mean=0.02, spread=0.5),
    "answer": Tolerance(clip=1.0, mean=0.02, spread=0.5),
    "value": Tolerance(clip=1.0, mean=0.02, spread=0.5),
    "defined": Tolerance(clip=1.0, mean=0.02, spread=0.2),
}
"""Of bits as a share of the submitted, of a lag of a second, of clipped samples of the larger number and 0.2 % of all;
of a metric as a share of its scale (of the value for a distance without a largest one), ``metric`` for those without a
row; ``beyond`` is what lies below the worst end of that scale, where single values are noise (SI-SDR of Codec2 by up to
37 dB, 33 % of its scale as a root mean square); of a probe's number as a share of its range, of counts of tokens
(``coded`` bits, and what else is a ``share``) of what is counted, of an ``amount``, which has no largest value, the
``drift`` of a metric, a ``count``, and the ``value`` of a text of the larger of the two plus one. ``errors`` are all
kinds of word errors together; an ``answer`` is right, wrong or in part, between 0 and 1, as is whether a metric is
``defined``. A ``figure`` is one that depends on the order of clips, as a share of its scale; some have a row."""
SAME_SOUND: Mapping[str, Tolerance] = {
    # DNSMOS of input rounded to 10 bits moved by up to 0.0002 of its range, a root mean square of 0.00007
    "probe": Tolerance(clip=0.02, mean=0.001, spread=0.005),
    "amount": Tolerance(clip=0.02, mean=0.005, spread=0.02),
    "total": Tolerance(clip=1e-6, mean=1e-6, spread=1e-6),
    # a cosine as those of trials, of which the range is twice as large
    "similarity": Tolerance(clip=0.005, mean=0.00025, spread=0.0015),
    # weights and spectra of the GE2E encoder rounded to 10 bits, as on graphics cards, move cosines of 23 clips of
    # `mini` by up to 0.00025, to 7 bits by 0.0018; samples off by 1e-7 turn the voice detector over on one clip, by up
    # to 0.0066, a root mean square of 0.003 of its trials
    "trial": Tolerance(clip=0.01, mean=0.0005, spread=0.003),
    "figure": Tolerance(clip=0.025, mean=0.0, spread=0.0),
    "asv_mindcf": Tolerance(clip=0.05, mean=0.0, spread=0.0),
}
"""A model may round otherwise on another processor even on the same sound; metrics have their own tolerance. A
``trial`` is a cosine: 2 % take many of them across a threshold. An ``amount`` is a count of tokens, for which models
are trained; its ``total`` follows from the length of the sound, other sound too."""
FEWEST = 10
"""Clips as which fewer of other sound count, the rest unchanged: one may move by sqrt(10) spreads, which is above the
largest honest change, and then no other may. What a forger gains on nine is less than on ten."""
ERRORS = 2
"""Standard errors of the stated spread by which a mean may be off."""


def of_mean(limits: Tolerance, number: int) -> float:
    """Return by how much the mean of so many numbers of other sound may be off, as a share of their scale."""
    return limits.mean + ERRORS * limits.spread / sqrt(max(number, FEWEST))
