"""Raising: passes from executorch-level plans back to edge programs, whatever compiler wrote the file."""
