"""Chats: models that are asked about sounds, behind an address, on this machine, or answered elsewhere."""
