"""No path of a machine leaves it; everything else does."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codec_superb.pipeline.submission.scrub import scrub, scrub_all


@pytest.mark.parametrize(
    ("text", "public"),
    [
        (
            "codec-superb resynth --dataset /home/ann/my --out=/srv/x/runs",
            "codec-superb resynth --dataset …/my --out=…/runs",
        ),
        ("cannot read /home/ann/voices/a.wav: no audio", "cannot read …/a.wav: no audio"),
        ("--dataset '/home/ann lee/my voices' --limit 3", "--dataset '…/my voices' --limit 3"),
        (r"C:\Users\ann\a.wav is empty", "…/a.wav is empty"),
        ("~/runs and ~ann/x", "…/runs and …/x"),
        ('(/home/ann), "/home/lee"', '(…/ann), "…/lee"'),
        ("/home/z/codec.py:Mine", "…/codec.py:Mine"),
        ("file:///home/ann/weights.pt", "file://…"),
        ("/", "/"),
    ],
)
def test_absolute_paths_keep_their_last_part(text: str, public: str) -> None:
    """Folders say who somebody is; the file's own name helps to understand a message."""
    assert scrub(text) == public


@pytest.mark.parametrize(
    "text",
    [
        "https://opus-codec.org/docs/a.html",
        "16/24 kHz and/or 1/2",
        "runs/opus_16k ./here ../there",
        "RFC 6716",
        "no speech (n/a)",
        "a ratio of 3 / 4",
    ],
)
def test_what_is_no_path_stays(text: str) -> None:
    """Web addresses, fractions, relative paths and words are not touched."""
    assert scrub(text) == text


def test_known_folders_go_even_with_spaces() -> None:
    """A folder that is known to the caller is replaced as a whole, the longest first."""
    folders = ["/home/ann lee", "/home/ann lee/my voices", "", "/"]
    assert scrub("bad /home/ann lee/my voices/a.wav", folders) == "bad …/a.wav"


@given(st.lists(st.sampled_from(["home", "ann", "w-1", "x_y", "ü.wav"]), min_size=2, max_size=5))
def test_no_folder_of_any_path_survives(parts: list[str]) -> None:
    """Whatever the depth, only the last part is left."""
    text = scrub("cannot read /" + "/".join(["secret", *parts]))
    assert text == f"cannot read …/{parts[-1]}"


def test_nested_data_are_scrubbed_and_names_kept() -> None:
    """Settings of a card may hold paths at any depth."""
    data = {"model": ["/srv/m/weights.pt", 3, None], "/a/b": {"x": "/c/d"}}
    assert scrub_all(data) == {"model": ["…/weights.pt", 3, None], "/a/b": {"x": "…/d"}}


def test_a_long_text_of_letters_takes_no_time() -> None:
    """Linear in its length: what was quadratic took half a minute for as many letters."""
    for letters in ("a" * 100_000, "~" + "a" * 100_000, "a." * 50_000):
        began = process_time()
        assert scrub(letters) == letters
        assert process_time() - began < 5
