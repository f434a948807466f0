"""Runs machine code that the compiler's native backend has made."""
