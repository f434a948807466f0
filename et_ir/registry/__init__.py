"""Operator schemas of torch, kept as sorted text, and the scripts that make it and the dialects' classes from
it.
"""
