"""Kernel manifests of target runtimes.

There is one for each target, kept as sorted text.
"""
