"""Clips as arrays: clusters are numbered as their names are sorted, and codecs are brought to the same clips."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codec_superb.pipeline.statistics.clip_arrays import arrays_of, cluster_numbers, shared
from codec_superb.pipeline.statistics.groups import cluster_names
from codec_superb.pipeline.statistics.jackknife import numbered
from codec_superb.pipeline.tables.rows import ClipRow

_CODEC = st.dictionaries(
    st.sampled_from("abcdefgh"), st.tuples(st.sampled_from(["", "0" * 12, "f" * 12]), st.booleans()), min_size=1
)


@given(st.lists(_CODEC, min_size=1, max_size=3))
def test_shared_clips_and_their_clusters(codecs: list[dict[str, tuple[str, bool]]]) -> None:
    """The clips that all have with a resynthesis, sorted, with the numbers that names of clusters give."""
    rows = [
        {
            clip: ClipRow(
                clip=clip, dataset="d", category="music", cluster=cluster, status="ok" if ok else "failed", samples=n
            )
            for n, (clip, (cluster, ok)) in enumerate(reversed(codec.items()))
        }
        for codec in codecs
    ]
    joint = shared([arrays_of(one.values())["d", "music"] for one in rows])
    clips = sorted(set.intersection(*({clip for clip, row in one.items() if row.status == "ok"} for one in rows)))
    assert [of.table["clip"].to_pylist() for of in joint] == [clips] * len(rows)
    assert [of.number("samples").tolist() for of in joint] == [[one[clip].samples for clip in clips] for one in rows]
    expected = numbered(cluster_names([[one[clip] for one in rows] for clip in clips]))
    assert cluster_numbers(joint).tolist() == expected.tolist()
