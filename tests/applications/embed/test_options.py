"""Options behind an encoder's name: what is read, what keeps its kind, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codec_superb.applications.catalogue import backend_entry, make_backend, open_backend
from codec_superb.applications.embed.frames import FrameBackend
from codec_superb.applications.embed.options import read_options
from codec_superb.applications.errors import ApplicationError

DEFAULTS = {"pooling": "mean", "layer": -1, "hop_s": 0.01}


@pytest.mark.parametrize(
    ("variant", "name", "changed"),
    [
        ("", "", {}),
        ("facebook/hubert-base@abc", "facebook/hubert-base@abc", {}),
        ("models/a,b", "models/a,b", {}),
        ("models/a,b,layer=9", "models/a,b", {"layer": 9}),
        (",pooling=max,hop_s=0.02", "", {"pooling": "max", "hop_s": 0.02}),
        ("pooling=max,hop_s=0.02", "", {"pooling": "max", "hop_s": 0.02}),
        ("models=1", "models=1", {}),
    ],
)
def test_what_is_read(variant: str, name: str, changed: dict[str, object]) -> None:
    """A name with a comma stays whole; only what ends in options has any."""
    assert read_options(variant, DEFAULTS) == (name, DEFAULTS | changed)


@pytest.mark.parametrize(
    ("variant", "said"),
    [
        ("a,colour=red", "expected each of the options pooling, layer, hop_s once, got 'colour'"),
        ("a,layer=1,layer=2", "once, got 'layer'"),
        ("a,layer=nine", "option layer: expected a value such as -1, got 'nine'"),
    ],
)
def test_what_is_refused(variant: str, said: str) -> None:
    """An unknown option, one that comes twice, a word for a number: each says what was expected."""
    with pytest.raises(ApplicationError, match=said):
        read_options(variant, DEFAULTS)


def test_options_of_others_stay_behind_the_name() -> None:
    """In their order, where that is asked for."""
    found = read_options("a,colour=red,layer=2,depth=3", DEFAULTS, others=True)
    assert found == ("a,colour=red,depth=3", DEFAULTS | {"layer": 2})


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(variant: str) -> None:
    """No text fails with anything but the error of this package, and without options nothing is lost."""
    try:
        name, options = read_options(variant, DEFAULTS)
    except ApplicationError:
        return
    assert variant.startswith(name)
    assert set(options) == set(DEFAULTS)


@pytest.mark.parametrize(
    "spec",
    [
        "yamnet-vectors:models/yamnet,pooling=max", "aisfx:,pooling=last", "log-mel-frames:,bands=40,hop_s=0.02",
        "pooled-transformers:a/b@c,layer=3,pooling=max", "perch:mine.onnx,pooling=max",
        "codec-codes:mimi_8cb,codebooks=1", "codec-vectors:mimi_8cb,latents=continuous,pooling=max",
    ],
)  # fmt: skip
def test_a_workers_copy_has_the_same_options(spec: str) -> None:
    """A worker makes the backend again from its variant: it answers with the options that the results name."""
    backend = open_backend(spec)
    assert isinstance(backend, FrameBackend)
    assert backend.options != dict(backend.defaults)
    copy = make_backend(backend_entry(spec), backend.variant)
    assert isinstance(copy, FrameBackend)
    assert (copy.chosen, copy.options) == (backend.chosen, backend.options)
    assert backend.chosen == spec.partition(":")[2].partition(",")[0]
