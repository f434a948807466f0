"""Tensors and other values as facts, and facts as a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from et_schema.program import Tensor
    from et_vm.meta import TensorInfo


def tensor_name(tensor: Tensor) -> str:
    """The module path of a parameter or buffer; empty for other tensors."""
    extra = tensor.extra_tensor_info
    return "" if extra is None else extra.fully_qualified_name


def tensor_facts(tensor: TensorInfo) -> dict[str, Any]:
    """Element type, shape, bytes, and what is out of the ordinary: a name, a layout, a changing shape."""
    facts: dict[str, Any] = {
        "dtype": tensor.dtype().torch_name,
        "shape": list(tensor.sizes()),
        "nbytes": tensor.nbytes(),
        "planned": tensor.is_memory_planned(),
    }
    if tensor.name():
        facts["name"] = tensor.name()
    if tensor.dim_order() != tuple(range(len(tensor.sizes()))):
        facts["dim_order"] = list(tensor.dim_order())
    if tensor.is_dynamic():
        facts["dynamic"] = True
        facts["bounded"] = tensor.is_bounded()
    return facts


def describe(slot: dict[str, Any]) -> str:
    """A tensor or another input or output in a few words: `float32 [2, 3] fc.weight`."""
    if "type" in slot:
        value = f" {slot['value']!r}" if "value" in slot else ""
        return slot["type"] + value + (f" {slot['name']}" if "name" in slot else "")
    text = f"{slot['dtype']} {slot['shape']}"
    if "dim_order" in slot:
        text += f" dim order {slot['dim_order']}"
    if slot.get("dynamic"):
        text += " at most" if slot["bounded"] else " or more"
    if "name" in slot:
        text += f" {slot['name']}"
    return text + ("" if slot.get("planned", True) else " unplanned")
