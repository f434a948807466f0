"""Handwritten digits, from training to predictions on the register VM: `python -m examples.digits`."""
