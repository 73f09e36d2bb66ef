"""Pitch by autocorrelation as Praat finds it: correlations of eight frames side by side, their maxima, a path."""
