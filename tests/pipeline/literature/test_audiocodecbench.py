"""The published perplexities of AudioCodecBench agree with themselves."""

from __future__ import annotations

from statistics import geometric_mean

import pytest

from codec_superb.pipeline.literature.audiocodecbench import perplexities, perplexities_about


@pytest.mark.parametrize(("table", "codecs"), [("libritts", 8), ("emilia", 8), ("jamendo", 6)])
def test_the_whole_is_the_geometric_mean_of_the_codebooks(table: str, codecs: int) -> None:
    """To what perplexities of rounded losses differ by; of a codec with one codebook it is that one's."""
    rows = perplexities(table)
    assert len(rows) == codecs
    assert table in perplexities_about()["tables"]
    for row in rows:
        # of SemantiCodec the source contradicts itself, which its description here says
        allowed = 0.16 if row.codec == "SemantiCodec" else 0.06
        assert row.perplexity == pytest.approx(geometric_mean(row.codebooks), rel=allowed), row.codec
