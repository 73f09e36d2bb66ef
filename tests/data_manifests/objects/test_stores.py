"""Stores: what is read, and what faults of a store cost."""

from __future__ import annotations

import pickle
import resource
import sys
from pathlib import Path

import pytest
from support.objects.s3 import S3, Fault

from codec_superb.data_manifests.errors import DatasetError, FetchError, ObjectError, StoreError
from codec_superb.data_manifests.objects import stores
from codec_superb.data_manifests.objects.stores import Files, store_of
from codec_superb.data_manifests.objects.urls import checked_url, without_secrets

pytestmark = pytest.mark.network
CONTENT = bytes(range(256)) * 8


@pytest.fixture
def there(s3: S3, monkeypatch: pytest.MonkeyPatch) -> S3:
    """Return the server with one object; the program is not patient."""
    monkeypatch.setattr(stores, "RETRIES", 2)
    monkeypatch.setattr(stores, "SILENT_SECONDS", 1.0)
    s3.put("a/b c.bin", CONTENT)
    return s3


def test_a_range_is_one_request_for_these_bytes_alone(there: S3) -> None:
    """A part of an object comes with one request under the condition of its ETag, and no other byte is sent."""
    store, key = store_of(f"{there.url}/a/b c.bin")
    found = store.stat(key)
    there.requests.clear()
    assert store.read(key, 100, 50, found.version) == CONTENT[100:150]
    assert [(each.method, each.range, each.sent) for each in there.requests] == [("GET", "bytes=100-149", 50)]
    assert [each.url for each in store.listed("a")] == [found.url] == [f"{there.url}/a/b c.bin"]


@pytest.mark.parametrize("kind", ["503", "gone", "cut", "slow"])
def test_what_comes_right_is_tried_again(there: S3, kind: str) -> None:
    """Two answers 503, dropped, cut off or too late cost time, and the bytes are right."""
    store, key = store_of(f"{there.url}/a/b c.bin")
    found = store.stat(key)
    there.faults.append(Fault(kind, times=2, seconds=1.5))
    assert store.read(key, 0, len(CONTENT), found.version) == CONTENT


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault("503", "b%20c"), "HTTP 503"),
        (Fault("cut", "b%20c"), "broke off"),
        (Fault("short", "b%20c"), "expected 2048 bytes, got 1024"),
    ],
)
def test_an_object_that_stays_wrong_costs_itself(there: S3, fault: Fault, reason: str) -> None:
    """An object that stays away or comes truncated is an error of its own, told in one sentence without a secret."""
    store, key = store_of(f"{there.url}/a/b c.bin")
    found = store.stat(key)
    there.faults.append(fault)
    with pytest.raises(ObjectError, match=reason) as caught:
        store.read(key, 0, len(CONTENT), found.version)
    assert "\n" not in str(caught.value)
    assert "AKIA" not in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_changed_object_is_never_mixed(there: S3) -> None:
    """Once the object was written again, reading the version of before says so."""
    store, key = store_of(f"{there.url}/a/b c.bin")
    found = store.stat(key)
    assert store.read(key, 0, 10, found.version)
    there.put("a/b c.bin", CONTENT[::-1])
    with pytest.raises(ObjectError, match="was changed since it was listed"):
        store.read(key, 10, 10, found.version)


def test_a_store_that_is_away_is_no_fault_of_an_object(there: S3) -> None:
    """A store that answers nothing, and a bucket that is not there, end a command and not a clip."""
    store, key = store_of(f"{there.url}/a/b c.bin")
    there.faults.append(Fault("gone"))
    with pytest.raises(StoreError, match="does not answer"):
        store.read(key, 0, 10, "")
    there.faults.clear()
    store, key = store_of("s3://no-such-bucket/a")
    with pytest.raises(StoreError, match="no such bucket"):
        store.read(key, 0, 10, "")
    with pytest.raises(StoreError, match="no such bucket"):
        list(store.listed(key))


def test_who_is_refused_is_told_what_to_do(there: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refusals of everything end a command, one object that may not be read is its own, a missing package is named."""
    store, key = store_of(f"{there.url}/a/b c.bin")
    there.faults.append(Fault("403", times=1))
    with pytest.raises(StoreError, match="see that this machine's credentials are there"):
        store.read(key, 0, 10, "")
    assert store.read(key, 0, 10, "")
    there.faults.append(Fault("403", times=1))
    with pytest.raises(ObjectError, match="the store refuses it"):
        store.read(key, 0, 10, "")
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(FetchError, match=r"needs obstore, which is not installed: pip install 'codec-superb\[s3\]'"):
        store_of("s3://another/a")


def test_what_is_there_is_not_written_over(there: S3) -> None:
    """Of two writers of one name the second is told so, and the first one's bytes stay."""
    store, key = store_of(f"{there.url}/new")
    assert store.create(key, b"first")
    assert not store.create(key, b"second")
    assert store.read(key, 0, 5, "") == b"first"


def test_what_cannot_be_written_says_why(tmp_path: Path) -> None:
    """In the words of the system, as where a disk is full: here a file may not be longer than a limit."""
    store, key = store_of(f"file://{tmp_path}/long")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))  # Python ignores SIGXFSZ
    try:
        with pytest.raises(ObjectError, match=r"/long cannot be written: File too large$"):
            store.create(key, bytes(2000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_names_are_those_of_the_store(there: S3) -> None:
    """Objects with any characters in their names are listed and read; names that cannot be asked for are told."""
    names = [
        "ü ñ",
        "100%",
        "%41",
        "a+b",
        "#1",
        "q?x",
        "[x]{y}",
        "it's",
        '"q"',
        "back\\slash",
        ".hidden",
        "日本",
        "😀",
        "<*>|:",
    ]
    for name in names:
        there.put(f"names/{name}", name.encode())
    store, _ = store_of(f"{there.url}/names")
    found = list(store.listed("names"))
    assert {each.url.removeprefix(f"{there.url}/names/") for each in found} == set(names)
    for each in found:
        content = store.read(each.url.removeprefix(f"{there.url}/"), 0, each.size, each.version)
        assert each.url.endswith(f"/{content.decode()}")
    there.put("names/x//y.wav", b"y")
    with pytest.raises(ObjectError, match="rename it"):
        list(store.listed("names"))


@pytest.mark.parametrize(
    "url",
    [
        "s3://AKIA:secret@bucket/a",
        "s3://bucket/a?X-Amz-Signature=secret",
        "https://user:secret@host/a",
        "gs://b/a#secret",
    ],
)
def test_urls_with_secrets_are_refused_without_them(url: str) -> None:
    """A URL with a name, password or query is refused, and neither error nor provenance has what was secret in it."""
    with pytest.raises(DatasetError) as caught:
        checked_url(url)
    assert "secret" not in str(caught.value)
    assert "secret" not in without_secrets(f"--dataset={url} 'x {url}' {Path(url)}")
    assert "AKIA" not in str(caught.value)


def test_a_file_system_of_fsspec_is_read_by_the_same_rules() -> None:
    """What fsspec reads (the hub) is told apart by version; what is missing or truncated is an error of the object."""
    import fsspec
    from huggingface_hub import HfFileSystem

    system = fsspec.filesystem("memory")
    system.pipe("/codec-superb/a.wav", CONTENT)
    store = Files("memory://", system)
    found = store.stat("/codec-superb/a.wav")
    assert store.read("/codec-superb/a.wav", 3, 4, found.version) == CONTENT[3:7]
    assert [each.url for each in store.listed("/codec-superb")] == [found.url]
    with pytest.raises(ObjectError, match="truncated"):
        store.read("/codec-superb/a.wav", 2040, 20, found.version)
    with pytest.raises(ObjectError, match="no such file"):
        store.stat("/codec-superb/b.wav")
    with pytest.raises(ObjectError, match="was changed"):
        store.read("/codec-superb/a.wav", 3, 4, "another")
    system.pipe("/codec-superb/in/c.wav", CONTENT)
    files, folders = store.level("/codec-superb")
    assert ([each.url for each in files], folders) == ([found.url], ["in"])
    system.rm("/codec-superb", recursive=True)
    away = Files("hf://", HfFileSystem(endpoint="http://127.0.0.1:9", token=False, skip_instance_cache=True))
    with pytest.raises(StoreError, match=r"hf://datasets/owner/name/data cannot be read \(\w+\)"):
        away.stat("datasets/owner/name/data")
