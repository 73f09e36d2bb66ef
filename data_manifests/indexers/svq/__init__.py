"""Simple Voice Questions: the recordings of one locale, with what each task of MSEB asks about them."""

from codec_superb.data_manifests.indexers.svq.layout import find

__all__ = ["find"]
