"""Passes of the freestanding backend."""
