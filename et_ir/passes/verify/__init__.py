"""Verification passes: the contract of each level, and the limits of a target."""
