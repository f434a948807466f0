"""Tools over loaded programs: bundled test cases, certificates of memory plans."""

from __future__ import annotations


def __getattr__(name: str) -> object:
    from et_schema.executorch_names import missing_name

    raise missing_name(__name__, name)
