"""What stores are asked: list, state, a range of bytes, and to take what is not there yet.

S3 and Google Cloud Storage are asked by obstore, which tries again what may come right (answers 5xx, broken
connections, late answers) with growing pauses, and reads under the condition that an object is still the version that
is expected (If-Match). The Hugging Face hub is asked through fsspec. Credentials are found as these libraries find
them: nothing here takes, keeps or shows any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from codec_superb.data_manifests.errors import DatasetError, FetchError, MissingObject, ObjectError, StoreError
from codec_superb.missing_package import not_installed

RETRIES = 5
"""How often a request is tried again before it has failed."""
CONNECT_SECONDS, SILENT_SECONDS, LONGEST_SECONDS = 10.0, 20.0, 120.0
"""Limits: for a connection, between two pieces of an answer, and from a request to the beginning of its last try."""
_WHOLE_SECONDS = 3600.0
"""Limit of one answer, that of an object of gigabytes too."""
_STATUS = re.compile(r"status code: (\d{3}[ \w]*)")
_SYSTEM = re.compile(r": ([\w ]+) \(os error \d+\)")
_KINDS = {
    "kind: Connect": "no connection",
    "kind: Timeout": "no answer in time",
    "kind: Decode": "the answer broke off",
    "kind: Body": "the answer broke off",
    "kind: Interrupted": "the answer broke off",
    "kind: Request": "the answer broke off",
}
"""How obstore writes what it saw, and what is said of it; its own text has addresses, and answers of the store."""
_CREDENTIALS = (
    "see that this machine's credentials are there and may read it (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
    "GOOGLE_APPLICATION_CREDENTIALS, or the role of the machine)"
)
_METADATA = re.compile(r"http://(169\.254\.|metadata\.google\.internal)")
"""Where roles of machines are asked for, which is done where there are no other credentials."""
_NOBODY = "codec-superb-is-anybody-there"
"""Name of an object that is asked for to see whether a store answers at all."""


class Found(NamedTuple):
    """An object."""

    url: str
    size: int
    """Bytes."""
    version: str
    """What changes with its content: the ETag of S3, the hash of a file of the hub."""

    @property
    def name(self) -> str:
        """Last part of its address."""
        return self.url.rsplit("/", 1)[-1]


class Store(Protocol):
    """A bucket, or what corresponds to it; keys are what follows its address."""

    def stat(self, key: str) -> Found:
        """Return the state of an object. Raises ObjectError where there is none."""
        ...

    def read(self, key: str, start: int, size: int, version: str) -> bytes:
        """Return ``size`` bytes of that version. Raises ObjectError where it has changed or fewer bytes come."""
        ...

    def listed(self, prefix: str) -> Iterator[Found]:
        """Yield the objects below a prefix, a folder without its slash."""
        ...

    def level(self, prefix: str) -> tuple[list[Found], list[str]]:
        """Return the objects right below a folder, and the names of the folders there."""
        ...

    def create(self, key: str, content: bytes | Path, /) -> bool:
        """Store what is not there yet; False where there is an object of that name."""
        ...


def store_of(url: str) -> tuple[Store, str]:
    """Return the store of a URL, and the key in it. Raises FetchError where a package is missing that reads it."""
    scheme, _, rest = url.partition("://")
    if scheme == "hf":
        return _hub(), rest
    bucket, _, key = rest.partition("/")
    return _bucket(f"{scheme}://{bucket}"), key


@cache
def _bucket(url: str) -> Store:
    try:
        import obstore  # noqa: F401
    except ImportError as error:
        raise FetchError(not_installed(url, "obstore", extra="s3")) from error
    return Bucket(url)


@cache
def _hub() -> Store:
    try:
        import fsspec  # type: ignore[import-untyped]
        import huggingface_hub  # noqa: F401
    except ImportError as error:
        raise FetchError(not_installed("hf://", "huggingface_hub and fsspec", "huggingface_hub", "fsspec")) from error
    return Files("hf://", fsspec.filesystem("hf"))


class Bucket:
    """A bucket of S3, or of what speaks like it, or of Google Cloud Storage."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._store = self._connect(RETRIES, LONGEST_SECONDS)
        self._gave = False

    def _connect(self, retries: int, seconds: float) -> Any:
        from obstore.store import from_url

        limits = {
            "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
            "read_timeout": timedelta(seconds=SILENT_SECONDS),
            "timeout": timedelta(seconds=_WHOLE_SECONDS),
            # an address without TLS is only ever asked where somebody named it as the endpoint
            "allow_http": True,
        }
        tries = {"max_retries": retries, "retry_timeout": timedelta(seconds=seconds)}
        return from_url(self.url, client_options=limits, retry_config=tries)  # type: ignore[call-overload]

    def stat(self, key: str) -> Found:
        """See :class:`Store`."""
        with self._explained(key):
            return self._found(self._store.head(key))

    def read(self, key: str, start: int, size: int, version: str) -> bytes:
        """See :class:`Store`."""
        if not size:
            return b""
        options = {"range": (start, start + size), **({"if_match": version} if version.startswith('"') else {})}
        with self._explained(key):
            answer = self._store.get(key, options=options)
            content = bytes(answer.bytes())
        self._gave = True
        # a store that knows no If-Match gives what it has
        return _whole(content, size, self._found(answer.meta), version)

    def listed(self, prefix: str) -> Iterator[Found]:
        """See :class:`Store`."""
        with self._explained(prefix):
            for page in self._store.list(f"{prefix}/" if prefix else None):
                yield from map(self._found, page)

    def level(self, prefix: str) -> tuple[list[Found], list[str]]:
        """See :class:`Store`."""
        with self._explained(prefix):
            there = self._store.list_with_delimiter(prefix or None)
        folders = [each.rpartition("/")[2] for each in there["common_prefixes"]]
        return list(map(self._found, there["objects"])), sorted(folders)

    def create(self, key: str, content: bytes | Path) -> bool:
        """See :class:`Store`."""
        from obstore.exceptions import AlreadyExistsError

        with self._explained(key, "written"):
            try:
                # one request, so that the condition holds for all of it
                self._store.put(key, content, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False
        return True

    def _found(self, meta: Any) -> Found:
        version = meta["e_tag"] or meta["version"] or meta["last_modified"].isoformat()
        return Found(f"{self.url}/{meta['path']}", meta["size"], version)

    @contextmanager
    def _explained(self, key: str, done: str = "read") -> Iterator[None]:
        """Turn what obstore raises into one sentence: of the object, or of a store that gives nothing at all."""
        from obstore import exceptions

        place = f"{self.url}/{key}"
        try:
            yield
        except FileNotFoundError as error:
            self._refuse_bucket(error)
            raise MissingObject(f"{place}: there is no such object") from None
        except exceptions.InvalidPathError:
            raise ObjectError(
                f"{place}: a name there has an empty part, '.' or '..', which cannot be asked for: rename it"
            ) from None
        except exceptions.PreconditionError:
            raise ObjectError(_changed(place)) from None
        except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
            # S3 says so of an object that is not there where the caller may not list; ended tokens have other codes
            if self._gave and "<Code>AccessDenied<" in str(error):
                raise ObjectError(
                    f"{place}: the store refuses it (or has none, where listing is not allowed)"
                ) from None
            raise StoreError(f"{self.url} refuses {place}: {_CREDENTIALS}") from None
        except exceptions.BaseError as error:
            self._refuse_bucket(error)
            reason = _reason(error)
            if _METADATA.search(str(error)):
                raise StoreError(f"{self.url}: no credentials were found: {_CREDENTIALS}") from None
            if self._answers():
                raise ObjectError(f"{place} cannot be {done}: {reason}") from None
            raise StoreError(
                f"{self.url} does not answer ({reason}): run the same command again, what is finished stays"
            ) from None

    def _refuse_bucket(self, error: Exception) -> None:
        if "<Code>NoSuchBucket<" in str(error):
            raise StoreError(f"{self.url}: there is no such bucket") from None

    def _answers(self) -> bool:
        from obstore import exceptions

        try:
            self._connect(1, CONNECT_SECONDS).head(_NOBODY)
        except (FileNotFoundError, exceptions.PermissionDeniedError, exceptions.UnauthenticatedError):
            return True
        except exceptions.BaseError:
            return False
        return True


class Files:
    """A file system of fsspec. What changes between a read and the look at its state behind it is not found."""

    def __init__(self, root: str, system: Any) -> None:
        self._root, self._system = root, system

    def stat(self, key: str) -> Found:
        """See :class:`Store`."""
        with self._explained(key):
            self._system.invalidate_cache()
            return self._found(self._system.info(key))

    def read(self, key: str, start: int, size: int, version: str) -> bytes:
        """See :class:`Store`."""
        with self._explained(key):
            content = self._system.cat_file(key, start, start + size) if size else b""
            return _whole(content, size, self._found(self._system.info(key)), version)

    def listed(self, prefix: str) -> Iterator[Found]:
        """See :class:`Store`."""
        with self._explained(prefix):
            for its in self._system.find(prefix, detail=True).values():
                yield self._found(its)

    def level(self, prefix: str) -> tuple[list[Found], list[str]]:
        """See :class:`Store`."""
        with self._explained(prefix):
            there = self._system.ls(prefix, detail=True)
        folders = [its["name"].rstrip("/").rpartition("/")[2] for its in there if its["type"] == "directory"]
        return [self._found(its) for its in there if its["type"] != "directory"], sorted(folders)

    def create(self, key: str, _content: bytes | Path) -> bool:
        """Raise StoreError."""
        raise StoreError(f"{self._root}{key}: nothing is written there: no condition keeps two writers apart")

    def _found(self, info: dict[str, Any]) -> Found:
        known = (
            info.get(name)
            for name in ("ETag", "etag", "blob_id", "sha256", "md5Hash", "generation", "mtime", "created")
        )
        version = next((str(value) for value in known if value), "")
        return Found(f"{self._root}{info['name'].lstrip('/')}", info["size"] or 0, version)

    @contextmanager
    def _explained(self, key: str) -> Iterator[None]:
        place = f"{self._root}{key}"
        try:
            yield
        except FileNotFoundError:
            raise MissingObject(f"{place}: there is no such file") from None
        except PermissionError:
            raise StoreError(f"{self._root} refuses {place}: log in as its own programs ask for it") from None
        except DatasetError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the client of a file system raises
            raise StoreError(f"{place} cannot be read ({type(error).__name__}): run the same command again") from None


def _whole(content: bytes, size: int, found: Found, version: str) -> bytes:
    if version and found.version != version:
        raise ObjectError(_changed(found.url))
    if len(content) != size:
        raise ObjectError(f"{found.url}: truncated: expected {size} bytes, got {len(content)}")
    return content


def _changed(place: str) -> str:
    return f"{place} was changed since it was listed: run the command again, for clips after datasets index"


def _reason(error: Exception) -> str:
    text = str(error)
    if status := _STATUS.search(text):
        return f"HTTP {status[1].strip()}"
    system = _SYSTEM.search(text)
    return next((said for kind, said in _KINDS.items() if kind in text), system[1] if system else type(error).__name__)
