"""Believing by running again: the queue of the worker, keys, and the attestations that rows carry."""
