"""Parses a multipart form as it arrives: the file goes on in pieces, short fields are kept, the rest is refused."""

from __future__ import annotations

from collections.abc import Callable

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from codec_superb.server.errors import BadRequest

FIELD_LIMIT = 2000
"""Most bytes of a field other than the file."""
PARTS = 10
FILE, TOKEN = "file", "token"
_BOUNDARY = 70
"""Characters that RFC 2046 allows."""
_KIND = 300
"""Characters of a Content-Type that are read: 15,000 semicolons take 23 ms of the event loop."""


class FormReader:
    """Takes the body of a ``multipart/form-data`` request in pieces."""

    def __init__(self, content_type: str, take: Callable[[bytes], None]) -> None:
        """Read by the boundary in ``content_type``; ``take`` is called with each piece of the field ``file``."""
        _, options = parse_options_header(content_type[:_KIND])
        boundary = options.get(b"boundary", b"")
        if not 0 < len(boundary) <= _BOUNDARY:
            raise BadRequest(
                f"expected a boundary of 1 to {_BOUNDARY} characters in the header Content-Type: multipart/form-data"
            )
        self.fields: dict[str, str] = {}
        """Short fields by name, such as ``token``."""
        self.has_file = False
        self._take = take
        self._name: str | None = None
        self._value = bytearray()
        self._header = bytearray()
        self._header_value = bytearray()
        self._headers: dict[bytes, bytes] = {}
        self._parts = 0
        self._ended = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_header_field": lambda data, start, end: self._header.extend(data[start:end]),
                "on_header_value": lambda data, start, end: self._header_value.extend(data[start:end]),
                "on_header_end": self._end_header,
                "on_headers_finished": self._name_part,
                "on_part_data": self._data,
                "on_part_end": self._end_part,
                "on_end": self._end,
            },
        )

    def feed(self, data: bytes) -> None:
        """Take the next piece of the body. Raises BadRequest for a malformed form."""
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise BadRequest(f"expected multipart/form-data, got something else: {error}") from error

    def finish(self) -> None:
        """Expect that the form was whole and held a file. Raises BadRequest otherwise."""
        if not self._ended:
            raise BadRequest("expected a whole form, got one that breaks off; send it again")
        if not self.has_file:
            raise BadRequest(f"expected a form with the field {FILE!r} and a submission in it, got none")

    def _begin(self) -> None:
        self._parts += 1
        if self._parts > PARTS:
            raise BadRequest(f"expected at most {PARTS} fields")
        self._name = None
        self._headers.clear()
        self._value.clear()

    def _end_header(self) -> None:
        # RFC 9110, 5.1: names of fields are compared without regard to case
        self._headers[bytes(self._header).lower()] = bytes(self._header_value)
        self._header.clear()
        self._header_value.clear()

    def _name_part(self) -> None:
        # RFC 7578, 4.2: each part names its field in Content-Disposition
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self._name = options.get(b"name", b"").decode("utf-8", "replace")
        if self._name == FILE:
            if self.has_file:
                raise BadRequest("expected one file at a time, got two")
            self.has_file = True
        elif self._name == TOKEN and self.has_file:
            # it is looked at before the file is received
            raise BadRequest(f"expected the field {TOKEN!r} before the file, got it behind; send it first")

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._name == FILE:
            self._take(data[start:end])
            return
        self._value.extend(data[start:end])
        if len(self._value) > FIELD_LIMIT:
            raise BadRequest(f"expected at most {FIELD_LIMIT} bytes in the field {self._name!r:.50}")

    def _end_part(self) -> None:
        if self._name is not None and self._name != FILE:
            self.fields[self._name] = self._value.decode("utf-8", "replace")

    def _end(self) -> None:
        self._ended = True
