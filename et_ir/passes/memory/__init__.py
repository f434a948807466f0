"""Passes that reduce and plan memory: scheduling, rematerialization, in-place execution, planning."""
