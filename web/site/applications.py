"""What applications say of a codec's resyntheses: the metrics of published tables, with label, unit and direction.

Here, because pages, charts and the service need the same words; the probes that compute such figures are another part.
"""

from __future__ import annotations

from codec_superb.web.quantity import Quantity

_ROWS = (
    Quantity("asr_wer_pct", "Speech recognition: word error rate", "%", higher_is_better=False, decimals=2),
    Quantity("asv_eer_pct", "Speaker verification: equal error rate", "%", higher_is_better=False, decimals=2),
    Quantity("asv_mindcf", "Speaker verification: minimum detection cost", "", higher_is_better=False, decimals=2),
    Quantity("er_accuracy_pct", "Emotion recognition: accuracy", "%", higher_is_better=True, decimals=2),
    Quantity("aec_map_pct", "Audio event classification: mean average precision", "%", True, 2),
    Quantity("ultra_average", "UltraEval average", "", higher_is_better=True, decimals=2),
    Quantity("ultra_error_rate_pct", "Speech recognition: word or character error rate", "%", False, 2),
    Quantity("ultra_sim_pct", "Speaker similarity", "%", higher_is_better=True, decimals=2),
    Quantity("ultra_utmos", "UTMOS", "", higher_is_better=True, decimals=2),
    Quantity("ultra_dnsmos_p835", "DNSMOS P.835, overall", "", higher_is_better=True, decimals=2),
    Quantity("ultra_dnsmos_p808", "DNSMOS P.808", "", higher_is_better=True, decimals=2),
)

APPLICATIONS: dict[str, Quantity] = {row.key: row for row in _ROWS}
"""By key, in the order in which they are shown."""
