"""Measurements, each against its alternative in the same minute: `python -m bench.NAME`."""
