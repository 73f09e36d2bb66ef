"""What guests share: weights of the hub are found in its cache, in whatever folders they lie there."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from codec_superb.base_codec.isolation import guest_tools

REVISION = 40 * "a"
CODE = """
import sys
from codec_superb.base_codec.isolation.guest_tools import weights_folder

weights = {"source": "author/model", "revision": sys.argv[1]}
print(weights_folder({"settings": {}, "weights": weights}, tuple(sys.argv[3:]), sys.argv[2]))
"""


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("names", "subfolder", "expected"),
    [
        (("config.json", "model.bin"), "", ""),
        (("config.json", "model.bin"), "small", "small"),
        (("encoder/config.yml", "vocoder/clean/model.pkl"), "", ""),
    ],
)
def test_the_folder_of_the_hubs_files_is_found(
    tmp_path: Path, names: tuple[str, ...], subfolder: str, expected: str
) -> None:
    """Files at the top, in a subfolder, or with folders in their names: what is returned is where the names begin."""
    snapshot = tmp_path / "hub" / "models--author--model" / "snapshots" / REVISION
    for name in names:
        file = snapshot / subfolder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    # A process of its own: the hub's package reads these variables when it is imported.
    variables = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", CODE, REVISION, subfolder, *names]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(snapshot / expected)


def test_another_file_than_the_publishers_is_refused(tmp_path: Path) -> None:
    """A file of the hub must have the card's hash; one of the user's own may be another."""
    file = tmp_path / "model.bin"
    file.write_bytes(b"half a download")
    right = hashlib.sha256(b"half a download").hexdigest()
    guest_tools.expect_hash({"settings": {}, "weights": {"sha256": right}}, file)
    guest_tools.expect_hash({"settings": {"weights": str(tmp_path)}, "weights": {"sha256": right[::-1]}}, file)
    guest_tools.expect_hash({"settings": {}, "weights": {"sha256": None}}, file)  # no source states one
    with pytest.raises(ValueError, match=rf"expected model.bin with SHA-256 {64 * '0'}; delete it .* \(got {right} in"):
        guest_tools.expect_hash({"settings": {}, "weights": {"sha256": 64 * "0"}}, file)


def test_files_of_another_repository_are_named_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a codec takes from elsewhere is looked for there, at that revision, and in the user's one folder."""
    monkeypatch.setattr("huggingface_hub.hf_hub_download", _offline)
    card = {"settings": {}, "weights": {"source": "author/model", "revision": None}}
    origin = {"source": "others/listener", "revision": "r1"}
    with pytest.raises(FileNotFoundError, match=r"no file config.json of others/listener at r1"):
        guest_tools.weights_folder(card, ("config.json",), origin=origin)
    (tmp_path / "config.json").touch()
    own = {**card, "settings": {"weights": str(tmp_path)}}
    assert guest_tools.weights_folder(own, ("config.json",), origin=origin) == tmp_path


def _offline(*_: object, **__: object) -> str:
    raise ConnectionError


def test_a_file_that_lacks_parameters_is_refused() -> None:
    """Three of the missing names are told; what the model does not use may be missing."""
    guest_tools.refuse_gaps("model.bin", {"losses.weight"}, ("losses.",))
    names = {"losses.weight", "layer.3", "layer.1", "layer.2", "layer.0"}
    with pytest.raises(
        ValueError, match=r"expected the publisher's model.bin, got one without layer.0, layer.1, layer.2$"
    ):
        guest_tools.refuse_gaps("model.bin", names, ("losses.",))
