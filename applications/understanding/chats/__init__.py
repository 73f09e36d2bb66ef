"""Chats: backends that take texts and sounds and answer with a text."""
