"""Judged measures: another model reads a chat's answers; its replies are kept, so that re-scoring asks nobody."""
