"""The label maps that are shipped, against the labels of the datasets and the names of the classes."""

from __future__ import annotations

from collections import Counter

import pytest

from codec_superb.applications.aec.label_map import label_map, mapped_datasets
from codec_superb.applications.aec.yamnet import YamNet
from codec_superb.data_manifests.catalogue import load_manifest, manifest_names
from codec_superb.data_manifests.indexers.gtzan_genre import GENRES
from codec_superb.data_manifests.manifest import PackagesSource

_ESC50 = """airplane breathing brushing_teeth can_opening car_horn cat chainsaw chirping_birds church_bells clapping
clock_alarm clock_tick coughing cow crackling_fire crickets crow crying_baby dog door_wood_creaks door_wood_knock
drinking_sipping engine fireworks footsteps frog glass_breaking hand_saw helicopter hen insects keyboard_typing
laughing mouse_click pig pouring_water rain rooster sea_waves sheep siren sneezing snoring thunderstorm toilet_flush
train vacuum_cleaner washing_machine water_drops wind"""
ESC50 = set(_ESC50.split())
"""The classes of ESC-50, as Piczak's table lists them."""


@pytest.fixture(scope="module")
def audioset() -> set[str]:
    """Return the names of AudioSet's classes, from the class map of YAMNet."""
    backend = YamNet()
    return set(backend.classes(backend.prepare()))


@pytest.mark.parametrize("dataset", mapped_datasets())
def test_a_map_belongs_to_a_dataset_and_no_class_stands_twice(dataset: str) -> None:
    """A name for two labels would tie them, and a tie counts as an error; a label is mapped or left out, not both."""
    found = label_map(dataset)
    assert dataset in manifest_names()
    assert not found.classes.keys() & found.without.keys()
    names = Counter(name for of_label in found.classes.values() for name in of_label)
    assert {name for name, times in names.items() if times > 1} == set()
    assert all(found.classes.values())
    assert all(found.without.values())


@pytest.mark.network
@pytest.mark.parametrize("dataset", mapped_datasets())
def test_every_name_of_a_map_is_one_of_audioset(dataset: str, audioset: set[str]) -> None:
    """A name with an error in it would leave its label without a class, silently."""
    used = {name for names in label_map(dataset).classes.values() for name in names}
    assert used - audioset == set()


def test_every_label_of_mini_esc50_and_gtzan_is_decided() -> None:
    """Each label has a counterpart or a reason why not."""
    source = load_manifest("mini").source
    assert isinstance(source, PackagesSource)
    mini = {
        label
        for group in source.groups
        for clip in group.clips
        for label in (*clip.labels.events, *group.labels.events)
    }
    for dataset, labels in (("mini", mini), ("esc50", ESC50), ("gtzan_genre", set(GENRES))):
        found = label_map(dataset)
        assert found.classes.keys() | found.without.keys() == labels, dataset
    assert len(ESC50) == 50
