"""Codecs with results of MSEB's super tasks on the board: several bitrates, locales and recording conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session
from support.server.board import Probed, make_submission

from codec_superb.metrics.table import Category

CASCADE = "faster-whisper:tiny.en+minilm"
CONDITIONS = ("background_speech", "clean", "media_noise", "traffic_noise")
LOCALES = ("svq_ar_x_gulf", "svq_en_us", "svq_ja_jp", "svq_sw")
STAMPS: Mapping[str, Mapping[str, float]] = {
    # Values on `stamps` by codec and bitrate in kbps, as the specification measured them where it did.
    "mseb_retrieval_passage_mrr": {"": 0.556, "opus_6k": 0.339, "codec2_1200": 0.277, "codec2_700": 0.049},
    "mseb_reranking_query_map": {"": 0.632, "opus_6k": 0.419, "codec2_1200": 0.369, "codec2_700": 0.186},
    "mseb_transcription_wer_pct": {"": 43.5, "opus_6k": 101.6, "codec2_1200": 117.7, "codec2_700": 141.9},
    "mseb_segmentation_ndcg": {"": 0.753, "opus_6k": 0.553, "codec2_700": 0.106},
    "mseb_clustering_speaker_v": {"": 0.920, "opus_6k": 0.887, "codec2_700": 0.758},
    "mseb_reconstruction_yamnet_fad": {"": 0.0, "opus_6k": 27.1, "codec2_700": 18.3},
}
"""By figure: '' is the original sound. Reasoning and classification were not measured."""
KBPS = {"opus_6k": 6.0, "codec2_1200": 1.2, "codec2_700": 0.7}
ORACLE = "mseb_retrieval_passage_oracle_mrr"


def make_mseb_codecs(session: Session) -> None:
    """Store three codecs on ``stamps``, the first of them on four locales with conditions too."""
    datasets: dict[str, Sequence[Category]] = {"stamps": ("speech",)}
    for codec, kbps in KBPS.items():
        figures = [
            Probed(figure, values[codec], values[""], "stamps", CASCADE, width=_width(figure))
            for figure, values in STAMPS.items()
            if codec in values
        ]
        figures.append(Probed(ORACLE, 1.0, 1.0, "stamps", CASCADE, width=0.0))
        more = datasets
        if codec == "opus_6k":
            more = {**datasets, **dict.fromkeys(LOCALES, ("speech",))}
            figures += _locales()
        make_submission(session, codec, kbps, datasets=more, applications=figures)
    make_submission(session, "mp3_64k", 64.0, datasets=datasets)


def _locales() -> list[Probed]:
    found = []
    for at, dataset in enumerate(LOCALES):
        for number, part in enumerate(("", *CONDITIONS)):
            if (dataset, part) == ("svq_sw", "media_noise"):
                continue  # not recorded: an empty cell
            ceiling = 0.75 - 0.08 * at - 0.03 * number
            value = ceiling * (0.9 - 0.1 * number)
            figures = {
                "mseb_retrieval_passage_mrr": (value, ceiling),
                "mseb_retrieval_passage_em": (value / 2, ceiling / 2),
            }
            found += [
                Probed(figure, pair[0], pair[1], dataset, CASCADE, width=0.02, slice=part)
                for figure, pair in figures.items()
            ]
    return found


def _width(figure: str) -> float:
    return 8.0 if figure.endswith("_pct") else 3.0 if figure.endswith("fad") else 0.05
