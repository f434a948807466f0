"""Mutable buffers of methods, in memory and in files."""
