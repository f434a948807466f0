"""Op classes of the `edge` dialect, one per overload, made when they are first used.

Editors and type checkers read `ops.pyi`, which `make stubs` writes.
"""

from __future__ import annotations

from et_ir.dialects.edge import OP_BY_NAME, EdgeOp


def __getattr__(name: str) -> type[EdgeOp]:
    return OP_BY_NAME.of_class(name)
