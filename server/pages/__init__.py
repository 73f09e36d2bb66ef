"""Explanatory pages of the site: datasets, metrics, about, the API."""
