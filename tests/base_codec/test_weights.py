"""Finding a neural codec's weights: folders, the hub's cache, offline flags, and what is said where some lack."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from support.codecs.checkpoints import checkpoint, save_checkpoint

from codec_superb.base_codec import registry, weights
from codec_superb.base_codec.errors import MissingWeights, RefusedSetting
from codec_superb.base_codec.options import CodecOptions
from codec_superb.data_manifests.hub.hub_files import OFFLINE

NAME = "encodec_24k_6bps"


def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, revision: str) -> Path:
    """Make a hub cache that holds the tiny EnCodec as ``facebook/encodec_24khz`` at ``revision``."""
    from huggingface_hub import constants

    repository = tmp_path / "hub" / "models--facebook--encodec_24khz"
    snapshot = repository / "snapshots" / revision
    snapshot.mkdir(parents=True)
    for name in weights.FILES:
        (snapshot / name).write_bytes((checkpoint("encodec") / name).read_bytes())
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(revision)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return snapshot


def test_the_card_says_which_weights_were_used() -> None:
    """A local checkpoint stands in the card by its folder's name and its SHA-256, a marked one as random."""
    folder = checkpoint("encodec")
    card, options = registry.configure(NAME, CodecOptions(weights=str(folder)))
    expected = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert card.weights is not None
    assert (card.weights.source, card.weights.sha256) == ("random", expected)
    assert options.weights == str(folder.resolve())


def test_a_checkpoint_without_the_mark_names_its_folder(tmp_path: Path) -> None:
    """Weights that nobody marked are called after their folder, whose path stays private."""
    folder = save_checkpoint("encodec", tmp_path / "mine", marked=False)
    card, _ = registry.configure(NAME, CodecOptions(weights=str(folder)))
    assert card.weights is not None
    assert card.weights.source == "local:mine"


def test_one_folder_serves_several_models(tmp_path: Path) -> None:
    """Below the folder that is given, a folder named like the hub's repository is found."""
    save_checkpoint("encodec", tmp_path / "encodec_24khz")
    _, options = registry.configure(NAME, CodecOptions(weights=str(tmp_path)))
    assert options.weights == str((tmp_path / "encodec_24khz").resolve())
    save_checkpoint("mimi", tmp_path)  # another model's files above it change nothing
    _, options = registry.configure(NAME, CodecOptions(weights=str(tmp_path)))
    assert options.weights == str((tmp_path / "encodec_24khz").resolve())


def test_a_folder_for_several_models_is_filled_model_by_model(tmp_path: Path) -> None:
    """Where nothing is there yet, the command fetches into a folder of the model's own, and the option stays."""
    with pytest.raises(MissingWeights) as raised:
        registry.configure(NAME, CodecOptions(weights=str(tmp_path)))
    text = str(raised.value)
    assert f"no file {tmp_path / 'encodec_24khz' / 'config.json'}" in text
    assert f"--local-dir {tmp_path / 'encodec_24khz'} " in text
    assert text.endswith(f"then name the folder above it: --weights {tmp_path}")


def test_a_missing_file_is_named_with_command_and_place(tmp_path: Path) -> None:
    """A folder without parameters answers with the file, the command that fetches it and the option to give."""
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(MissingWeights) as raised:
        registry.configure(NAME, CodecOptions(weights=str(tmp_path)))
    text = str(raised.value)
    assert f"no file {tmp_path / 'model.safetensors'}" in text
    assert "config.json and" not in text
    assert f"hf download facebook/encodec_24khz config.json model.safetensors --local-dir {tmp_path}" in text
    assert "--revision c1dbe2ae3f1de713481a3b3e7c47f357092ee040" in text
    assert f"--weights {tmp_path}" in text


@pytest.mark.parametrize("flag", OFFLINE)
def test_offline_flags_are_honoured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: str) -> None:
    """With either flag set the hub is not asked, and the error says so and what to fetch."""
    from huggingface_hub import constants

    for name in OFFLINE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(flag, "1")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(MissingWeights, match=r"the hub is not asked .*is set\); where there is internet: `hf download"):
        registry.open_codec(NAME)


def test_the_hubs_cache_is_used_at_the_pinned_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without options the card's repository is taken at the card's revision, and the run's card keeps both."""
    pinned = registry.card(NAME).weights
    assert pinned is not None
    assert pinned.revision is not None
    snapshot = hub_cache(tmp_path, monkeypatch, pinned.revision)
    found = weights.locate_weights(registry.card(NAME))
    assert (found.folder, found.source, found.revision) == (snapshot, pinned.source, pinned.revision)
    card, options = registry.configure(NAME)
    # the worker gets the folder alone: it must call it by the same name, or the run's card would be another one
    assert registry.configure(NAME, options)[0] == card


def test_another_revision_is_not_the_pinned_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache with another revision does not serve the card, but can be asked for by name."""
    hub_cache(tmp_path, monkeypatch, "0" * 40)
    with pytest.raises(MissingWeights, match="at revision c1dbe2ae"):
        weights.locate_weights(registry.card(NAME))
    asked = CodecOptions(weights=f"facebook/encodec_24khz@{'0' * 40}")
    assert weights.locate_weights(registry.card(NAME), asked).revision == "0" * 40
    assert (
        weights.locate_weights(registry.card(NAME), CodecOptions(weights="facebook/encodec_24khz")).revision == "0" * 40
    )


def test_a_checkpoint_of_another_model_is_refused() -> None:
    """Weights of the 48 kHz model do not open as the 24 kHz codec: the differences are listed."""
    other = CodecOptions(weights=str(checkpoint("encodec_48k")))
    with pytest.raises(RefusedSetting, match="sampling rate 48000, not 24000; channels 2, not 1"):
        registry.open_codec(NAME, options=other)


def test_a_checkpoint_that_lacks_parameters_is_refused(tmp_path: Path) -> None:
    """A parameter that is not in the file would be drawn at random: it is named instead."""
    from safetensors.torch import load_file, save_file

    folder = save_checkpoint("encodec", tmp_path)
    parameters = load_file(folder / "model.safetensors")
    lost = next(name for name in sorted(parameters) if name.startswith("encoder"))
    del parameters[lost]
    save_file(parameters, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(MissingWeights, match=r"1 parameters are missing, .*such as encoder\."):
        registry.open_codec(NAME, options=CodecOptions(weights=str(folder)))


def test_a_broken_configuration_is_named(tmp_path: Path) -> None:
    """A config.json that is no JSON, no object or of another kind of model is an error with its path."""
    folder = save_checkpoint("encodec", tmp_path)
    for text, message in (("{", "cannot be read as JSON"), ("[]", "expected a JSON object, got list")):
        (folder / "config.json").write_text(text)
        with pytest.raises(MissingWeights, match=message):
            registry.open_codec(NAME, options=CodecOptions(weights=str(folder)))
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(RefusedSetting, match="expected the model type encodec"):
        registry.open_codec(NAME, options=CodecOptions(weights=str(folder)))
