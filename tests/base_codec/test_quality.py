"""Decoding is right, not only complete: wide-band PESQ of every family on ten seconds of real speech.

A wrong byte order, code size, first packet or channel order keeps length and bits and ruins the sound. The values were
measured with PyAV 18.1, pycodec2 4.1, lc3py 1.1, soundfile 0.14 and the libraries of Debian 12 (iLBC: libilbc
2.0.2); each was checked to be in the range known for its codec.
"""

from __future__ import annotations

import pytest
from pesq import pesq
from support.codecs.opening import opened
from support.speech import real_speech

from codec_superb.base_codec import registry

pytestmark = pytest.mark.network

MEASURED = {
    "aac_32k": 3.68, "ac3_64k": 4.50, "alac": 4.64, "amrnb_4.75k": 2.22, "amrnb_12.2k": 3.15, "aptx_384k": 4.57,
    "aptx_hd_576k": 4.63, "codec2_700": 1.32, "codec2_3200": 1.53, "eac3_32k": 3.68, "flac": 4.64, "g711_alaw": 3.79,
    "g711_mulaw": 3.79, "g722_64k": 4.20, "g723_1_6.3k": 2.52, "g726_16k": 1.76, "g726_24k": 2.68, "g726_32k": 3.28,
    "g726_40k": 3.68, "ima_adpcm_32k": 2.64, "lc3_16k": 3.58, "lc3_64k": 4.52, "mp2_64k": 3.95, "mp3_24k": 3.46,
    "mp3_64k": 4.60, "msbc_60.8k": 4.41, "nellymoser_16k": 3.04, "opus_6k": 2.37, "opus_12k": 3.83, "opus_24k": 4.41,
    "ra144_8k": 2.24, "sbc_64k": 4.45, "wavpack": 4.64, "wma_32k": 3.36, "gsm_13k": 2.86, "amrwb_6.6k": 2.75,
    "amrwb_12.65k": 3.81, "amrwb_23.85k": 4.28, "speex_nb_8k": 2.45, "speex_nb_24.6k": 3.42, "speex_wb_12.8k": 3.26,
    "speex_wb_27.8k": 3.92, "g729_8k": 2.65, "ilbc_13.33k": 2.74, "ilbc_15.2k": 2.79, "vorbis_q0": 3.49,
    "vorbis_q4": 4.35, "musepack_q2": 4.18,
}  # fmt: skip


@pytest.mark.sample(7)
@pytest.mark.parametrize("name", MEASURED)
def test_speech_sounds_as_this_codec_sounds(name: str) -> None:
    """PESQ is within 0.15 of what was measured when the codec was added."""
    codec = opened(name)
    speech = real_speech(16000, 10)
    resynthesis = codec.decode(codec.encode(speech, 16000))
    assert pesq(16000, speech[0], resynthesis[0], "wb") == pytest.approx(MEASURED[name], abs=0.15)


def test_every_family_is_measured() -> None:
    """A family of the core install that is added without a measured value fails here."""
    cards = map(registry.card, registry.names())
    families = {card.family for card in cards if card.kind != "neural"}
    assert families == {registry.card(name).family for name in MEASURED}
