"""Emotion recognition: a classifier trained on the references, asked about the resyntheses."""
