"""The TOSA backend, ahead of time: partitions become TOSA files, for Arm's compilers and the reference model.

`rules` say which operators compute an op, `legalizer` makes them, `serialization` writes the file. The passes beside
this package are the steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from et_backends.tosa.compiler.partitioner import TosaCompileSpec, TOSAPartitioner
    from et_backends.tosa.compiler.specification import TosaSpecification

__all__ = ["TOSAPartitioner", "TosaCompileSpec", "TosaSpecification"]


def __getattr__(name: str) -> object:
    """Load what is asked for: passes of the backend, which it runs, need none of it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from et_backends.tosa.compiler import partitioner, specification

    return getattr(specification if name == "TosaSpecification" else partitioner, name)
