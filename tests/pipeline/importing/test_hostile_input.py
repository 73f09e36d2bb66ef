"""Tables, tokens and cards of the user's are read strictly: each fault is one sentence, and none runs code."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codec_superb.data_manifests.errors import DatasetError
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.importing.bits import read_bits
from codec_superb.pipeline.importing.card import Stated, imported_card
from codec_superb.pipeline.importing.pairing import ClipNames
from codec_superb.pipeline.importing.token_files import WrongTokens, codebooks_of, read_tokens

NAMES = ClipNames(["a", "x/b.wav"])


def test_bits_are_found_by_clip_or_path(tmp_path: Path) -> None:
    """As spreadsheets write them; lines that belong to no clip are listed."""
    table = tmp_path / "bits.csv"
    table.write_text("\ufeffpath, bits ,note\r\n./x/b.flac,0,\r\na.wav, 9007199254740992,best\r\n\r\nzz,3,\r\n")
    assert read_bits(table, NAMES) == ({"x/b.wav": 0, "a": 1 << 53}, ["zz"])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "line 1: expected a column bits, got an empty file"),
        (b"clip,size\na,3\n", "expected a column bits, got clip, size"),
        (b"file,bits\na,3\n", "line 1: expected a column clip or path"),
        (b"clip,bits\na,3\na.wav,4\n", "line 3, column clip: a was given before"),
        (b"clip,bits\na\n", "line 2, column bits: expected 2 cells, got 1"),
        (b'clip,bits\n"a,3\n', "no CSV"),
        (b"clip,bits\na,\xff\n", "expected UTF-8, got byte 0xff"),
        (b"clip,bits\na,0\nx/b,0\n", "column bits: expected bits above 0, got 0 for each of 2 clips"),
        *(
            (f"clip,bits\na,{cell}\n".encode(), "line 2, column bits: .* 9007199254740992 at most, got 9")
            for cell in ("9007199254740993", "9" * 5000)
        ),
        *(
            (f"clip,bits\na,{cell}\n".encode(), "line 2, column bits: expected the clip's whole number of bits")
            for cell in (
                "",
                "-1",
                "1e9",
                "nan",
                "inf",
                "3.0",
                "0x10",
                "1_000",
                "\u0663",
            )
        ),
    ],
)
def test_a_wrong_table_is_refused(tmp_path: Path, content: bytes, told: str) -> None:
    """With its line and column."""
    table = tmp_path / "bits.csv"
    table.write_bytes(content)
    with pytest.raises(DatasetError, match=told):
        read_bits(table, NAMES)


def _saved(array: Any, **more: Any) -> bytes:
    content = io.BytesIO()
    np.save(content, array, **more)
    return content.getvalue()


def _archive() -> bytes:
    content = io.BytesIO()
    np.savez(content, tokens=np.arange(3))
    return content.getvalue()


class _Bomb:
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.mkdir, ("bomb",)


def test_tokens_have_two_axes(tmp_path: Path) -> None:
    """One clip of a batch, and the tokens of one codebook, get the axes that they lack."""
    for given, shape in ((np.zeros((1, 4, 9), np.int64), (4, 9)), (np.zeros(9, np.uint8), (1, 9))):
        np.save(tmp_path / "a.npy", given)
        assert read_tokens(tmp_path / "a.npy").shape == shape
    assert codebooks_of(tmp_path / "a.npy") == 1


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "a.npy is no array as numpy.save writes it"),
        (b"PK\3\4", "a.npy is no array as numpy.save writes it"),
        (_saved(np.array([_Bomb()]), allow_pickle=True), "a.npy is no array as numpy.save writes it"),
        (pickle.dumps(_Bomb()), "a.npy is no array as numpy.save writes it"),
        (_saved(np.zeros((1 << 10, 9), np.int64))[:200], "a.npy is no array as numpy.save writes it"),
        (_saved(np.zeros(1)).replace(b"(1,)", b"(9999999999999,)"), "a.npy is no array as numpy.save writes it"),
        (_archive(), "a.npy is no array as numpy.save writes it"),
        (_saved(np.zeros((4, 9), np.float32)), "expected whole numbers, got float32"),
        (_saved(np.zeros((4, 9), bool)), "expected whole numbers, got bool"),
        (_saved(np.zeros((2, 4, 9), np.int32)), r"expected the shape \(codebooks, frames\), got \(2, 4, 9\)"),
        (_saved(np.zeros((4, 0), np.int32)), r"got \(4, 0\)"),
        (_saved(np.array(3)), r"got \(\)"),
        (_saved(np.array([-1, 3])), "expected entries of 0 or more, got -1 to 3"),
        (_saved(np.array([1 << 63], np.uint64)), "expected entries of 0 or more"),
        (_saved(np.zeros((500, 8), np.int32)), r"got \(500, 8\): transpose it"),
    ],
)
def test_wrong_tokens_are_refused(tmp_path: Path, content: bytes, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No pickle is run, no memory is taken that the file does not fill."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(WrongTokens, match=told):
        codebooks_of(tmp_path / "a.npy")
    assert not (tmp_path / "bomb").exists()


def test_tensors_of_torch_are_read_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor, alone or as the only entry; a pickle with code in it is refused and not run."""
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a.pt"
    tokens = torch.arange(18).reshape(1, 2, 9)
    for saved in (tokens, {"codes": tokens}, [tokens]):
        torch.save(saved, file)
        assert np.array_equal(read_tokens(file), np.arange(18).reshape(2, 9))
    torch.save({"codes": tokens, "scale": tokens}, file)
    with pytest.raises(WrongTokens, match="expected one tensor of tokens, got dict"):
        read_tokens(file)
    torch.save(tokens.to(torch.bfloat16), file)
    with pytest.raises(WrongTokens, match=r"a\.pt is no tensor of whole numbers: .*BFloat16"):
        read_tokens(file)
    file.write_bytes(pickle.dumps(_Bomb()))
    with pytest.raises(WrongTokens, match=r"a\.pt is no tensor"):
        read_tokens(file)
    assert not (tmp_path / "bomb").exists()


@pytest.mark.parametrize(
    ("text", "stated", "told"),
    [
        ("", Stated(), "expected a name for the codec: give --name"),
        ("[1, 2]", Stated("mine"), "expected lines such as `licence: MIT`, got list"),
        ("1: 2", Stated("mine"), "expected lines such as"),
        ("a: [", Stated("mine"), "is no YAML"),
        ("x: !!python/object/apply:os.mkdir [bomb]", Stated("mine"), "is no YAML"),
        (
            "{}",
            Stated("My Codec"),
            "expected a name of lower-case letters, digits, _ and dots, such as my_codec, got 'My Codec'",
        ),
        ("{}", Stated("opus_12k"), "opus_12k is a codec of the catalogue"),
        ("name: other", Stated("mine"), "--name is mine, but the card .* is named other"),
        ("speed: 3", Stated("mine"), "card.yaml: the card is not valid: speed is unknown: take it out"),
        ("# nothing", Stated("mine"), "got an empty file"),
        ("title: a\ntitle: b", Stated("mine"), "is no YAML: the key title is given twice"),
        ("nominal_kbps: -3", Stated("mine"), "nominal_kbps: expected greater than 0, got -3"),
        ("{sampling_rate: 0, year: -1, latency_ms: -1}", Stated("mine"), "year: .*; sampling_rate: .*; latency_ms: "),
        ("nominal_kbps: 6", Stated("mine", kbps=3), "--kbps is 3, but the card states 6"),
        ("{}", Stated("mine", kbps=float("nan")), "expected --kbps above 0, got nan"),
        ("{}", Stated("mine", kbps=-1), "expected --kbps above 0, got -1"),
        ("{}", Stated("mine", codebook_sizes=(1024,)), "--codebook-size is for tokens"),
    ],
)
def test_a_card_that_cannot_be_is_refused(tmp_path: Path, text: str, stated: Stated, told: str) -> None:
    """One sentence says which statement is wrong."""
    file = tmp_path / "card.yaml"
    file.write_text(text)
    with pytest.raises(PipelineError, match=told):
        imported_card(stated._replace(file=file if text else None), 16000, codebooks=None, measured=False)


@pytest.mark.parametrize(
    ("text", "sizes", "told"),
    [
        ("{}", (), "expected the entries of the codebooks, without which tokens have no bits: give --codebook-size"),
        ("codebooks: 2", (), "expected the entries of the codebooks"),
        ("{codebooks: 2, codebook_size: 8}", (8,), "give the codebooks by --codebook-size or in --card, not both"),
        ("{}", (8, 1), "expected codebooks of 2 entries or more, got 1"),
        ("{codebooks: 2, codebook_size: 1}", (), "expected codebooks of 2 entries or more, got 1 in each"),
    ],
)
def test_tokens_without_sizes_have_no_bits(tmp_path: Path, text: str, sizes: tuple[int, ...], told: str) -> None:
    """The largest entry that occurs is a lower bound, and no size: the user is asked."""
    file = tmp_path / "card.yaml"
    file.write_text(text)
    with pytest.raises(PipelineError, match=told):
        imported_card(Stated("mine", file, None, sizes), 16000, codebooks=2, measured=True)


def test_a_card_says_where_its_bits_come_from() -> None:
    """Measured from tokens or a table, declared, or not known."""

    def sources(stated: Stated, codebooks: int | None = None, *, measured: bool = False) -> tuple[Any, ...]:
        card = imported_card(stated, 24000, codebooks=codebooks, measured=measured)
        return card.bit_source, card.nominal_kbps, card.frame_bits, card.sampling_rate

    assert sources(Stated("mine")) == ("unknown", None, None, 24000)
    assert sources(Stated("mine", kbps=3)) == ("declared", 3, None, 24000)
    assert sources(Stated("mine"), measured=True) == ("measured", None, None, 24000)
    assert sources(Stated("mine", None, None, (1024, 16)), 2, measured=True) == ("measured", None, 14, 24000)
    assert sources(Stated("mine", None, None, (1024,)), 8, measured=True) == ("measured", None, 80, 24000)
