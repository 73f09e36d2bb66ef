"""A form as it arrives, in pieces of any size: the file goes on, short fields stay, all else is refused in words."""

from __future__ import annotations

import pytest

from codec_superb.server.errors import BadRequest
from codec_superb.server.ingest.form import FormReader

KIND = "multipart/form-data; boundary=line"
FAR = KIND.replace(";", ";" * 1000)


def part(name: str | None, value: bytes = b"x", *, more: str = "") -> bytes:
    """Write one part; without a name it has a header that names nothing."""
    where = f'Content-Disposition: form-data; name="{name}"' if name is not None else "X-Nothing: 1"
    return f"--line\r\n{where}{more}\r\n\r\n".encode() + value + b"\r\n"


def read(
    *parts: bytes, size: int = 1 << 20, end: bytes = b"--line--\r\n", kind: str = KIND
) -> tuple[bytes, FormReader]:
    """Feed a form in pieces of ``size``; return the file and the reader."""
    pieces: list[bytes] = []
    form = FormReader(kind, pieces.append)
    body = b"".join(parts) + end
    for start in range(0, len(body), size):
        form.feed(body[start : start + size])
    form.finish()
    return b"".join(pieces), form


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_form_in_pieces(size: int) -> None:
    """Whatever the pieces, the file is whole, whatever it looks like, and fields have their names."""
    file = b"\r\n--lin\r\n--li\0" + bytes(range(256))
    upload = part("file", file, more='; filename="a.zip"\r\nContent-Type: application/zip')
    found, form = read(part("token", "gehéim".encode()), upload, part("note", b""), size=size)
    assert found == file
    assert form.fields == {"token": "gehéim", "note": ""}
    assert form.has_file


def test_the_file_alone() -> None:
    """No other field is needed; bytes that are no text are kept as marks in a field, and as they are in the file."""
    found, form = read(part("token", b"a\xff"), part("file", b"\xff"))
    assert (found, form.fields) == (b"\xff", {"token": "a\ufffd"})


def test_header_names_may_be_written_in_any_case() -> None:
    """RFC 7578 leaves the case to the sender."""
    assert read(part("file", b"zip").replace(b"Content-Disposition", b"CONTENT-disposition"))[0] == b"zip"


def test_a_part_without_a_name_is_passed_over() -> None:
    """It takes no name of the part before it."""
    found, form = read(part("file", b"zip"), part(None, b"what"), part("note", b"t"))
    assert (found, form.fields) == (b"zip", {"": "what", "note": "t"})


@pytest.mark.parametrize("length", [1, 70])
def test_boundaries_that_are_allowed(length: int) -> None:
    """One to 70 characters."""
    boundary = "b" * length
    body = part("file", b"zip").replace(b"line", boundary.encode())
    end = f"--{boundary}--\r\n".encode()
    assert read(body, end=end, kind=f"multipart/form-data; boundary={boundary}")[0] == b"zip"


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary=", f"{KIND}{'e' * 67}", FAR])
def test_boundaries_that_are_not(kind: str) -> None:
    """None, an empty one, 71 characters, and one behind parameters that take long to read."""
    with pytest.raises(BadRequest, match="boundary of 1 to 70 characters"):
        read(part("file"), kind=kind)


def test_parts_end() -> None:
    """Ten parts pass, one more does not."""
    fields = [part(f"f{number}") for number in range(9)]
    assert len(read(part("file"), *fields)[1].fields) == 9
    with pytest.raises(BadRequest, match="at most 10 fields"):
        read(part("file"), *fields, part("more"))


def test_fields_end() -> None:
    """2,000 bytes pass, in one piece or many; one more does not, and the field is named. A file has no such limit."""
    for size in (100, 10_000):
        assert read(part("token", b"x" * 2000), part("file", b"z" * 5000), size=size)[1].fields["token"] == "x" * 2000
        with pytest.raises(BadRequest, match="at most 2000 bytes in the field 'token'"):
            read(part("token", b"x" * 2001), part("file"), size=size)


def test_one_file() -> None:
    """A second file would have to be dropped."""
    with pytest.raises(BadRequest, match="one file at a time"):
        read(part("file"), part("file"))


def test_the_token_comes_first() -> None:
    """Behind the file it would be looked at when everything has been received."""
    with pytest.raises(BadRequest, match="the field 'token' before the file"):
        read(part("file"), part("token"))


def test_no_file() -> None:
    """A form with other fields alone says what it lacks."""
    assert FormReader(KIND, bytes).has_file is False
    with pytest.raises(BadRequest, match="the field 'file' and a submission in it, got none"):
        read(part("token"))


@pytest.mark.parametrize("body", [part("file"), part("file")[:-4], b"--line\r\n"])
def test_a_form_that_breaks_off(body: bytes) -> None:
    """Without its end nothing is sure to be whole."""
    with pytest.raises(BadRequest, match="breaks off"):
        read(body, end=b"")


def test_what_is_no_form() -> None:
    """Other bytes are refused at once."""
    with pytest.raises(BadRequest, match="got something else"):
        read(b"PK\x03\x04 this is no form")
