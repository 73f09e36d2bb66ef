"""PESQ: predicted quality of speech, ITU-T P.862 (narrow-band), P.862.1 (its mapping) and P.862.2 (wide-band).

The task: two recordings of the same speech, a reference and what a codec made of it, give the mean opinion score that
listeners would give the latter. Both are brought to one level, filtered like the listener's device, cut into
utterances of one delay each, and compared by loudness in Bark bands every 16 ms.

- A. W. Rix, J. G. Beerends, M. P. Hollier, A. P. Hekstra: Perceptual evaluation of speech quality (PESQ), ICASSP 2001.
- ITU-T P.862 (02/2001) with Corrigendum 2 (03/2018), P.862.1 (11/2003), P.862.2 (11/2007).

Written from the algorithm, in numba: the numbers are those of the standard's own programme (package ``pesq`` 0.0.4),
several times faster, without the interpreter's lock and on any number of threads. ``docs/decisions/0004-fast-pesq.md``
tells how and why.
"""

from codec_superb.metrics.p862.api import RATES, pesq, pesq_batch
from codec_superb.metrics.p862.errors import NoUtterances, SilentResynthesis, TooShort

__all__ = ["RATES", "NoUtterances", "SilentResynthesis", "TooShort", "pesq", "pesq_batch"]
