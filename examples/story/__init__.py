"""A small language model of the reference manual that comes with Python, trained, compiled and run."""
