"""Operator classes by torch's name, across dialects and forms.

A pass that knows what `permute` means serves `aten.permute`, its copying form `aten.permute_copy`, and
`edge.permute_copy` alike: it matches `forms("permute")` and builds new ops with `sibling`.
"""

from __future__ import annotations

from functools import cache, lru_cache

from et_ir.dialects.aten import OP_BY_NAME as ATEN_OPS
from et_ir.dialects.aten import AtenOp
from et_ir.dialects.edge import OP_BY_NAME as EDGE_OPS
from et_ir.dialects.schema import SchemaOp
from et_ops.library import copying_name

__all__ = ["forms", "known_forms", "sibling"]


@cache
def forms(*names: str) -> tuple[type[SchemaOp], ...]:
    """The op classes of both dialects for operators and their copying forms, as far as they exist.

    Raises `KeyError` for a name that no class has.
    """
    found: list[type[SchemaOp]] = []
    for name in names:
        classes = [ops.get(n) for n in (name, copying_name(name)) for ops in (ATEN_OPS, EDGE_OPS)]
        if not any(classes):
            raise KeyError(name)
        found.extend(cls for cls in classes if cls is not None)
    return tuple(found)


@lru_cache(maxsize=4096)
def _sibling(cls: type[SchemaOp], name: str) -> type[SchemaOp] | None:
    copied = copying_name(name)
    if not issubclass(cls, AtenOp):
        return EDGE_OPS.get(copied) or EDGE_OPS.get(name)
    if cls.operator.view_form != cls.operator.name and copied in ATEN_OPS:
        return ATEN_OPS[copied]
    return ATEN_OPS.get(name) or ATEN_OPS.get(copied)


def sibling(op: SchemaOp, name: str) -> type[SchemaOp]:
    """The class for an operator in the dialect of `op`, a view or a copy as `op` is.

    Raises `KeyError` if the dialect has none.
    """
    found = _sibling(type(op), name)
    if found is None:
        raise KeyError(f"the dialect of {op.name} has no operator {name}")
    return found


def known_forms(*names: str) -> tuple[type[SchemaOp], ...]:
    """The op classes of both dialects that have exactly one of the names; names without a class are skipped."""
    return tuple(ops[name] for name in names for ops in (ATEN_OPS, EDGE_OPS) if name in ops)
