"""Raising of graphs for XNNPACK to edge ops."""
