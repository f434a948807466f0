"""Gather and scatter: indexing, embedding bags."""
