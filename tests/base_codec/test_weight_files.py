"""Weights that a web server has as files: fetched by SHA-256, put by hand, or in a folder of weights by codec."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from support.codecs import isolated
from support.codecs.cards import make_card
from support.codecs.checkpoints import checkpoint
from support.datasets.package_files import IndexServer, closed_port, only_this_index

from codec_superb.base_codec import registry
from codec_superb.base_codec.card import Card, WeightsFile
from codec_superb.base_codec.errors import MissingWeights
from codec_superb.base_codec.isolation.user_weights import card_with_weights
from codec_superb.base_codec.options import CodecOptions
from codec_superb.base_codec.weight_folders import RANDOM_KEY, VARIABLE
from codec_superb.base_codec.weights import configured_card, locate_weights
from codec_superb.data_manifests.files import listing_sha256
from codec_superb.data_manifests.home import HOME_VARIABLE
from codec_superb.data_manifests.hub.hub_files import OFFLINE

FILES = {"encoder.bin": b"encoder" * 100, "decoder.bin": b"decoder" * 200}
HASHES = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}
WHOLE = listing_sha256(HASHES)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep away from the user's own home and folder of weights; return where fetched files lie."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    for name in (VARIABLE, *OFFLINE):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home" / "models" / f"served-{WHOLE[:12]}"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[IndexServer]:
    """Serve the files on this machine."""
    with IndexServer() as found:
        only_this_index(monkeypatch, tmp_path, found.url)
        for name, content in FILES.items():
            found.files[name] = ("served", content)
        yield found


def card_of(address: str, **changes: Any) -> Card:
    """Return the card of a codec whose two files ``address`` has."""
    files = [WeightsFile(name=name, sha256=HASHES[name], size=len(content)) for name, content in FILES.items()]
    weights = {"source": address, "revision": "1" * 40, "sha256": WHOLE, "files": files}
    return make_card("served_1k", kind="neural", weights=weights, **changes)


def served_card(server: IndexServer) -> Card:
    """Return the card with the server's address."""
    return card_of(server.url.replace("/simple/", "/files"))


def write(folder: Path, **changes: bytes) -> Path:
    """Write the files into ``folder``, some of them changed (by the name before the dot)."""
    folder.mkdir(parents=True)
    for name, content in FILES.items():
        (folder / name).write_bytes(changes.get(name.partition(".")[0], content))
    return folder


def test_files_are_fetched_once_and_known_by_their_hash(server: IndexServer, home: Path) -> None:
    """They lie below the home folder; the card stays as it is, and a second call asks nobody."""
    card = served_card(server)
    configured, found = configured_card(card)
    assert configured == card
    assert found.folder == home
    assert {path.name: path.read_bytes() for path in home.glob("*.bin")} == FILES
    asked = len(server.requests)
    assert locate_weights(card).folder == home
    assert len(server.requests) == asked


def test_another_file_of_the_same_name_is_refused(server: IndexServer, home: Path) -> None:
    """The hash on the card counts, not the server's word; nothing wrong is left behind."""
    server.files["decoder.bin"] = ("served", bytes(len(FILES["decoder.bin"])))
    with pytest.raises(MissingWeights, match=rf"serves it with SHA-256 \w+, expected {HASHES['decoder.bin']}"):
        locate_weights(served_card(server))
    assert [path.name for path in home.iterdir() if path.suffix != ".lock"] == ["encoder.bin"]


@pytest.mark.parametrize(("port", "why"), [("open", "the server answered 404"), ("closed", "no connection")])
def test_what_cannot_be_fetched_is_told_in_one_line(server: IndexServer, home: Path, port: str, why: str) -> None:
    """Which files, from where, why not, and where to put them."""
    server.files.clear()
    address = (
        f"http://127.0.0.1:{closed_port()}/files" if port == "closed" else server.url.replace("/simple/", "/files")
    )
    with pytest.raises(MissingWeights) as raised:
        locate_weights(card_of(address))
    assert str(raised.value) == (
        f"served_1k: encoder.bin, decoder.bin of {address} cannot be fetched (encoder.bin: {why}); put them into "
        f"{home}, or name a folder that has them with --weights DIR or CODEC_SUPERB_WEIGHTS"
    )


@pytest.mark.parametrize("flag", OFFLINE)
def test_offline_flags_are_honoured(
    server: IndexServer, home: Path, monkeypatch: pytest.MonkeyPatch, flag: str
) -> None:
    """With either flag set, or asked not to download, nobody is asked; what was put by hand is taken."""
    card = served_card(server)
    with pytest.raises(MissingWeights, match=r"are not on this machine; put them into"):
        locate_weights(card, download=False)
    monkeypatch.setenv(flag, "1")
    with pytest.raises(MissingWeights, match=rf"are not on this machine \(.*{flag}.* is set\); put them into"):
        locate_weights(card)
    write(home)
    assert locate_weights(card).folder == home
    assert server.requests == []


def test_a_fetched_file_that_was_changed_is_fetched_again(server: IndexServer, home: Path) -> None:
    """Only the published files lie in the home folder."""
    write(home, encoder=b"x" * len(FILES["encoder.bin"]))
    assert locate_weights(served_card(server)).folder == home
    assert (home / "encoder.bin").read_bytes() == FILES["encoder.bin"]
    assert server.downloads("decoder.bin") == []


@pytest.mark.parametrize("name", ["served_1k", "served", "."])
def test_a_folder_is_searched_by_codec_and_family(server: IndexServer, tmp_path: Path, name: str) -> None:
    """``--weights DIR`` takes the codec's folder below it, the family's, or itself; published files stay so."""
    folder = write(tmp_path / "all" / name) if name != "." else write(tmp_path / "all")
    configured, found = configured_card(served_card(server), CodecOptions(weights=str(tmp_path / "all")))
    assert found.folder == folder.resolve()
    assert configured.weights == served_card(server).weights
    assert server.requests == []


def test_other_files_are_other_weights(server: IndexServer, tmp_path: Path) -> None:
    """Their card has the folder's name and their hash, or says that nobody trained them; what lacks is named."""
    folder = write(tmp_path / "mine", decoder=b"retrained")
    card, options = served_card(server), CodecOptions(weights=str(folder))
    weights = configured_card(card, options)[0].weights
    assert weights is not None
    expected = listing_sha256(HASHES | {"decoder.bin": hashlib.sha256(b"retrained").hexdigest()})
    assert (weights.source, weights.revision, weights.sha256) == ("local:mine", None, expected)
    (folder / RANDOM_KEY).touch()
    marked = configured_card(card, options)[0].weights
    assert marked is not None
    assert marked.source == "random"
    (folder / "decoder.bin").unlink()
    with pytest.raises(MissingWeights, match=rf"^served_1k: .* in {folder}, got no decoder\.bin; fetch .* http"):
        configured_card(card, options)


class TestSharedFolder:
    """``CODEC_SUPERB_WEIGHTS`` is looked at before the network, for every neural codec."""

    def test_files_of_a_server(
        self, server: IndexServer, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By codec before family; a codec that the folder lacks goes on to the network; a half folder is an error."""
        monkeypatch.setenv(VARIABLE, str(tmp_path))
        assert locate_weights(served_card(server)).folder == home
        family = write(tmp_path / "served")
        assert locate_weights(served_card(server)).folder == family.resolve()
        own = write(tmp_path / "served_1k")
        assert locate_weights(served_card(server)).folder == own.resolve()
        (own / "encoder.bin").unlink()
        with pytest.raises(MissingWeights, match=rf"in {own}, got no encoder\.bin; fetch"):
            locate_weights(served_card(server))

    def test_models_of_transformers(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """By codec, family or hub repository; --weights goes before it, and without a folder the hub is asked."""
        monkeypatch.setenv(VARIABLE, str(tmp_path))
        for name in ("encodec_24khz", "encodec", "encodec_24k_6bps"):
            (tmp_path / name).symlink_to(checkpoint("encodec"))
            _, options = registry.configure("encodec_24k_6bps")
            assert options.weights == str(checkpoint("encodec").resolve())
        given = CodecOptions(weights=str(checkpoint("mimi")))
        assert registry.configure("mimi_8cb", given)[1].weights == str(checkpoint("mimi").resolve())
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        with pytest.raises(MissingWeights, match="the hub is not asked"):
            registry.configure("mimi_8cb")

    def test_isolated_codecs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The guest gets the folder, as with --weights; without one it finds the publisher's itself."""
        name = f"{Path(isolated.__file__).resolve()}:Trained"
        monkeypatch.setenv(VARIABLE, str(tmp_path))
        card, options = registry.configure(name)
        assert options.weights is None
        (tmp_path / "trained").mkdir()
        (tmp_path / "trained" / "gain.txt").write_text("0.5")
        card, options = registry.configure(name)
        assert options.weights == str((tmp_path / "trained").resolve())
        assert card.weights is not None
        assert card.weights.source == "local:trained"
        assert card_with_weights(registry.card(name), options.weights) == (card, tmp_path / "trained")

    def test_a_variable_that_names_no_folder_is_an_error(
        self, server: IndexServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A typing error must not send a machine to the network that was told not to go there."""
        monkeypatch.setenv(VARIABLE, str(tmp_path / "wrong"))
        with pytest.raises(MissingWeights, match=rf"^{VARIABLE} names {tmp_path}/wrong, which is no folder"):
            locate_weights(served_card(server))
        assert server.requests == []


@pytest.mark.parametrize("name", ["../encoder.bin", "/encoder.bin", "a/encoder.bin", ".hidden", ""])
def test_a_file_lies_in_its_folder(name: str) -> None:
    """The name becomes a path on this machine: a card of another package cannot leave the folder."""
    with pytest.raises(ValidationError, match="name"):
        WeightsFile(name=name, sha256="0" * 64, size=1)


def test_the_variable_is_no_concern_of_codecs_without_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Classical codecs are configured whatever it names."""
    monkeypatch.setenv(VARIABLE, os.devnull)
    assert registry.configure("opus_12k")[0] == registry.card("opus_12k")
