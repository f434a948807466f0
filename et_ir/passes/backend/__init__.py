"""Passes that delegate: partitioning, and compilation of partitions by their backends."""
