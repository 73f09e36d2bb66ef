"""Lyra V2 with its published weights gives the figures that were known of it before this wrapper was written.

They come from another composition of the same models, metrics and probes on the 23 clips of speech of ``mini``.
"""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import soundfile
from pesq import pesq
from support.codecs.published import needs_published, published_weights
from support.profile import some
from support.speech import recordings

from codec_superb.base_codec import registry
from codec_superb.base_codec.options import CodecOptions
from codec_superb.cli.main import call

DECIMALS = (2, 3, 3, 3, 3, 3, 2, 2, 2)
"""Of kbps, score, stft, mel, pesq and stoi, word error rate and similarity in percent, and DNSMOS (OVRL)."""
KNOWN = {
    "lyra_9.2k": (9.21, 0.735, 3.142, 0.783, 3.176, 0.927, 6.96, 96.68, 3.01),
    "lyra_6k": (6.01, 0.718, 3.172, 0.813, 2.926, 0.916, 7.83, 95.64, 2.95),
    "lyra_3.2k": (3.20, 0.668, 3.254, 0.897, 2.299, 0.881, 12.61, 91.56, 2.79),
}
PROBED = {"asr": "asr_wer_pct", "asv": "sim_pct", "quality": "dnsmos_ovrl"}
"""Application, and its figure among the known ones."""
PESQ = {
    "cards/001.wav": (2.530, 2.958, 3.311),
    "cards/003.wav": (2.484, 2.941, 3.214),
    "librivox/sense_and_sensibility_01_austen_64kb-0880.wav": (1.877, 2.535, 2.833),
}
"""Of three of those clips, as in the run whose means are the known ones: at 3.2, 6 and 9.2 kbps."""

pytestmark = [needs_published("lyra_3.2k"), pytest.mark.network]


@pytest.mark.sample(1)
@pytest.mark.parametrize("clip", PESQ)
def test_three_clips_have_their_pesq(clip: str) -> None:
    """The package ``pesq`` on the sound as it comes; a run scores it at 24 bits, which changes less than 0.001."""
    (content,) = recordings([clip])
    speech, rate = soundfile.read(io.BytesIO(content), dtype="float32")
    options = CodecOptions(weights=str(published_weights("lyra_3.2k")))
    for name, known in zip(("lyra_3.2k", "lyra_6k", "lyra_9.2k"), PESQ[clip], strict=True):
        codec = registry.open_codec(name, options=options)
        resynthesis = codec.decode(codec.encode(speech[None], rate))[0]
        assert pesq(rate, speech, resynthesis, "wb") == pytest.approx(known, abs=0.0015)


@pytest.mark.slow
@pytest.mark.sample(1, among="a benchmark comes to its known figures")
def test_mini_gives_the_known_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every figure of the three bitrates, in short of one bitrate and one probe, to the last digit that was known."""
    folder = published_weights("lyra_3.2k")
    assert folder is not None
    monkeypatch.setenv("CODEC_SUPERB_WEIGHTS", str(folder.parent))
    names, probes = some(KNOWN, 1), some(PROBED, 1)
    asked = ["--codec", *names, "--dataset", "mini", "--application", ",".join(probes)]
    assert call(["bench", *asked, "--out", str(tmp_path / "runs"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    speech = {row["codec"]: row["summary"] for row in found["ranking"] if row["summary"]["category"] == "speech"}
    probed = {(row["codec"], row["figure"]): row["value"] for row in found["applications"]}
    for name, known in ((name, KNOWN[name]) for name in names):
        signal = [speech[name]["metrics"][key]["mean"] for key in ("stft", "mel", "pesq", "stoi")]
        figures = (speech[name]["kbps"], speech[name]["score"]["value"], *signal)
        assert tuple(map(round, figures, DECIMALS)) == known[: len(figures)], name
        models = dict(zip(PROBED, zip(known[len(figures) :], DECIMALS[len(figures) :], strict=True), strict=True))
        for probe, (expected, decimals) in ((probe, models[probe]) for probe in probes):
            assert round(probed[name, PROBED[probe]], decimals) == expected, (name, probe)
