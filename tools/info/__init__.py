"""Sections of `et-vm info`, one per module.

Each has `facts`, what is in a program as objects that JSON has, and `lines`, the same as text.
"""
