"""Resampling of images, and windows that slide over them."""
