"""Clip ids: safe, reversible, the same everywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codec_superb.data_manifests.clip_id import MAX_PART_BYTES, check_clip_id, escape_path, unescape_id

_PART = st.binary(min_size=1, max_size=60).filter(lambda part: b"/" not in part and b"\0" not in part)
_PATH = st.lists(_PART.filter(lambda part: part not in {b".", b".."}), min_size=1, max_size=4).map(b"/".join)


@given(_PATH)
def test_every_path_of_bytes_comes_back_from_its_id(path: bytes) -> None:
    """Turning an id back gives the very bytes of the path."""
    assert unescape_id(escape_path(path)) == path


@given(_PATH)
def test_an_id_is_printable_utf_8_and_stays_inside_its_folder(path: bytes) -> None:
    """No id holds a control character, leaves the folder or is hidden, whatever the path was."""
    clip_id = escape_path(path)
    clip_id.encode("utf-8")
    assert check_clip_id(clip_id) == clip_id
    for part in clip_id.split("/"):
        assert not part.startswith(".")
        assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in part)


@given(_PATH, _PATH)
def test_two_paths_have_two_ids(first: bytes, second: bytes) -> None:
    """Escaping never makes one id of two files."""
    assert (first == second) == (escape_path(first) == escape_path(second))


@pytest.mark.parametrize(
    ("path", "clip_id"),
    [
        (b"speech/a b.wav", "speech/a b.wav"),
        ("Übung/日本.flac".encode(), "Übung/日本.flac"),
        (b"100%.wav", "100%25.wav"),
        (b"two\nlines.wav", "two%0Alines.wav"),
        (b"latin\xe9.wav", "latin%E9.wav"),
        (b".hidden.wav", "%2Ehidden.wav"),
        (b"..sneaky/x.wav", "%2E.sneaky/x.wav"),
        (b"dot./space /x", "dot%2E/space%20/x"),
        (b'back\\slash:"quoted"', "back%5Cslash%3A%22quoted%22"),
        ("right\u202eleft.wav".encode(), "right%E2%80%AEleft.wav"),
    ],
)
def test_ids_are_what_the_documentation_says(path: bytes, clip_id: str) -> None:
    """These ids are kept: a change would make old runs unreadable."""
    assert escape_path(path) == clip_id


def test_a_name_too_long_for_an_output_file_is_shortened_and_stays_unique() -> None:
    """Long names keep their beginning, differ by their hash, and say that they cannot be turned back."""
    first, second = (escape_path(b"\xff" * 240 + tail) for tail in (b"a.wav", b"b.wav"))
    assert first != second
    assert len(first.encode()) <= MAX_PART_BYTES
    assert check_clip_id(first) == first
    with pytest.raises(ValueError, match="was shortened"):
        unescape_id(first)


@pytest.mark.parametrize("path", [b"", b"/etc/passwd", b"a//b", b"../a", b"a/./b"])
def test_a_path_that_is_not_plainly_relative_is_refused(path: bytes) -> None:
    """Nothing that could lead out of a folder gets an id."""
    with pytest.raises(ValueError, match="expected a relative path"):
        escape_path(path)


@pytest.mark.parametrize("clip_id", ["", "a//b", "../a", "a\nb", "a:b", "x/.hidden", "a" * 201, "trailing "])
def test_an_id_that_could_not_be_an_output_path_is_refused(clip_id: str) -> None:
    """A clip list cannot smuggle in such an id."""
    with pytest.raises(ValueError, match="is no clip id"):
        check_clip_id(clip_id)


@pytest.mark.parametrize("clip_id", ["%41", "a b%2", "50%"])
def test_an_escape_that_was_not_needed_is_not_turned_back(clip_id: str) -> None:
    """There is one id for a path, so that only that one is accepted."""
    with pytest.raises(ValueError, match="is no clip id"):
        unescape_id(clip_id)
