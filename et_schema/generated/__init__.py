"""Modules written by ``python -m et_schema.generate``; change the ``.fbs`` files instead."""
