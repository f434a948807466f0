"""Passes of the TOSA backend."""
