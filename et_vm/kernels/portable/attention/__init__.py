"""Attention of language models over caches of keys and values."""
