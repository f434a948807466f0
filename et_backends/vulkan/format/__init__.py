"""Blobs of compute shaders: tables, reading and writing."""
