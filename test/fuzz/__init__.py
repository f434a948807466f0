"""Fuzzing: mutations of well-formed files, and the outcomes that are allowed."""
