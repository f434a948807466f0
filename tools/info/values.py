"""Values of a program as literals: numbers, strings and lists, with tensors and whatever is computed inside of them."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan

_SCALARS = {"Int": "int_val", "Bool": "bool_val", "Double": "double_val", "String": "string_val"}
_LISTS_OF_NUMBERS = ("DoubleList", "BoolList")
_LISTS_OF_REGISTERS = ("IntList", "TensorList", "OptionalTensorList")


def plain_value(table: Any) -> dict[str, Any]:
    """Content of a value that is not a tensor: `value` of a number or string, `items` of a list (of registers, or of
    numbers); nothing for None.
    """
    kind = type(table).__name__
    if kind in _SCALARS:
        return {"value": getattr(table, _SCALARS[kind])}
    if kind in _LISTS_OF_NUMBERS or kind in _LISTS_OF_REGISTERS:
        return {"items": list(table.items), "registers": kind in _LISTS_OF_REGISTERS}
    return {}


def literal(plan: ExecutionPlan, register: int, rebound: Set[int], show: Callable[[int], str]) -> str:
    """A value as text; `show` writes a tensor, or a register that instructions assign to (`rebound`)."""
    table = plan.values[register].val
    if register in rebound or type(table).__name__ == "Tensor":
        return show(register)
    plain = plain_value(table)
    if "value" in plain:
        return repr(plain["value"])
    if "items" not in plain:
        return "None"
    items = plain["items"]
    if plain["registers"]:
        items = ["None" if item < 0 else literal(plan, item, rebound, show) for item in items]
    return f"[{', '.join(map(str, items))}]"
