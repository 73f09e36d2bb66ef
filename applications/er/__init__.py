"""Emotion recognition: classifiers of emotions, before and after a codec."""
