"""Passes of the XNNPACK backend."""
