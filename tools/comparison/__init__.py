"""Numeric comparison of two programs: runs of both sides, and values matched between them."""
