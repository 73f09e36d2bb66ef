"""Finished pieces: made once, bounded."""

from __future__ import annotations

from codec_superb.web.site.board.fragments import Fragments


def test_a_piece_is_made_once() -> None:
    """The second who asks gets what the first had made."""
    kept: Fragments[str] = Fragments(2)
    assert kept.get("a", lambda: "first") == "first"
    assert kept.get("a", lambda: "second") == "first"


def test_the_least_recently_used_is_made_again() -> None:
    """No more pieces are kept than the limit; what was asked for lately stays."""
    kept: Fragments[str] = Fragments(2)
    for key in ("a", "b"):
        kept.get(key, lambda: "old")
    kept.get("a", lambda: "new")
    kept.get("c", lambda: "new")
    assert len(kept) == 2
    assert kept.get("a", lambda: "newer") == "old"
    assert kept.get("b", lambda: "newer") == "newer"
