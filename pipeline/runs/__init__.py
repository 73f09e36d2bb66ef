"""Run folders: the files of a run on disk, their locks and journals, and the provenance of results."""
