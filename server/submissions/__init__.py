"""Accepted submissions: listed, shown with their results, downloaded, traced to clips, compared with their versions."""
