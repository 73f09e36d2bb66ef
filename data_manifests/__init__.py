"""Datasets: YAML manifests, their schema, and the code that prepares, indexes, opens and checks datasets."""

from codec_superb.data_manifests.catalogue import list_manifests, load_manifest
from codec_superb.data_manifests.checking import DatasetCheck, check
from codec_superb.data_manifests.clip import CATEGORIES, Category, Clip, Labels
from codec_superb.data_manifests.dataset import Dataset, open_dataset
from codec_superb.data_manifests.errors import AudioFileError, DatasetError
from codec_superb.data_manifests.manifest import Manifest
from codec_superb.data_manifests.preparation import PrepareReport, prepare
from codec_superb.data_manifests.progress import ProgressUpdate

__all__ = [
    "CATEGORIES",
    "AudioFileError",
    "Category",
    "Clip",
    "Dataset",
    "DatasetCheck",
    "DatasetError",
    "Labels",
    "Manifest",
    "PrepareReport",
    "ProgressUpdate",
    "check",
    "list_manifests",
    "load_manifest",
    "open_dataset",
    "prepare",
]
