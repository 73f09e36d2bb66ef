"""Datasets: one YAML manifest each, a schema and a loader; a manifest becomes a stream of clips."""

from codec_superb.data_manifests.clip import CATEGORIES, Category, Clip, Labels
from codec_superb.data_manifests.dataset import Dataset, open_dataset
from codec_superb.data_manifests.errors import AudioFileError, DatasetError

__all__ = ["CATEGORIES", "AudioFileError", "Category", "Clip", "Dataset", "DatasetError", "Labels", "open_dataset"]
