"""The op for a call of a torch operator: its arguments as operands and properties, its results' types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final, Protocol, cast

import torch
from torch.fx import Node
from xdsl.dialects.builtin import DenseArrayBase, TensorType, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from et_ir.dialects.aten import OP_BY_NAME, AtenOp
from et_ir.dialects.program import LiteralOp
from et_ir.dialects.schema.literals import BOOL_LIST, DYNAMIC, DYNAMIC_ATTR, SEGMENTS, attribute_of, present
from et_ir.dialects.schema.op import OpInfo
from et_ir.dialects.schema.tensors import is_tensor
from et_ir.frontend.expressions import Translation
from et_ir.frontend.torch_registry import Operator, name_of, schema_of
from et_ir.frontend.types import UnsupportedType, element_type, result_type
from et_ir.frontend.unsupported import UnsupportedNode
from et_ops import Arg

__all__ = ["CallBuilder", "Operands", "op_class"]

# Operators that make out one of the sizes that they are given.
_VIEWS: Final = frozenset({"view", "view_copy", "reshape", "_unsafe_view", "_reshape_copy"})
# Operators whose shape functions say other types of results than their kernels give, which inference says.
_MISDECLARED: Final = frozenset(
    f"aten.{name}"
    for name in (
        "quantized_decomposed.choose_qparams_per_token",
        "_embedding_bag",
        "_embedding_bag_forward_only",
        "embedding_bag",
        "embedding_bag.padding_idx",
    )
)


class Operands(Protocol):
    """Context of a call: its converted arguments and the insertion point."""

    translate: Translation | None
    """Gives the expressions in types of results for those of the nodes; without it, they have none."""

    def value_of(self, node: Node) -> Any:
        """Value of a converted node. Raises `UnsupportedNode` if it could not be converted."""
        ...

    def is_left_to_view(self, item: Any, others: Sequence[Any]) -> bool:
        """Whether a size is one that nothing has, and the only one of a view beside `others` that is not given."""
        ...

    def place(self, op: Operation) -> None:
        """Append an op."""
        ...


@cache
def op_class(target: Operator) -> type[AtenOp] | None:
    """The op class of a torch operator, if the dialect has it and its schema is the one the class was made
    from. An overload that the dialect lacks, of a number in the place of a tensor, is the op of the tensor: numbers in
    tensor slots are values (`special_zeta.other_scalar`).
    """
    name = name_of(target)
    base, _, overload = name.partition(".")
    cls = OP_BY_NAME.get(name) or (OP_BY_NAME.get(base) if overload.endswith("_scalar") else None)
    if cls is None or [a.name for a in cls.schema().args] != [a.name for a in schema_of(target).arguments]:
        return None
    return cls


@lru_cache(maxsize=4096)
def _integers(values: tuple[int, ...]) -> Attribute:
    return DenseArrayBase.from_list(i64, list(values))


@lru_cache(maxsize=1024)
def _segments(sizes: tuple[int, ...]) -> Attribute:
    return DenseArrayBase.from_list(i32, list(sizes))


_LAYOUTS: Final = {torch.strided: "strided"}
_MEMORY_FORMATS: Final = {
    torch.contiguous_format: "contiguous_format",
    torch.preserve_format: "preserve_format",
    torch.channels_last: "channels_last",
    torch.channels_last_3d: "channels_last_3d",
}


class CallBuilder:
    """Makes the ops of calls whose arguments `operands` knows."""

    def __init__(self, operands: Operands):
        self._operands = operands

    def create(
        self, cls: type[AtenOp], args: Sequence[Any], kwargs: Mapping[str, Any], value: Any
    ) -> SSAValue | tuple[SSAValue, ...] | None:
        """Append an op for a call of an operator whose result torch knows as `value`; returns its result(s).

        Raises `UnsupportedNode` and `UnsupportedType`.
        """
        info = cls.info()
        operands: list[SSAValue] = []
        symbols: list[SSAValue] = []
        segments: list[int] = []
        properties: dict[str, Attribute] = {}
        given = len(args)
        for index, arg in enumerate(info.schema.args):
            item: Any = args[index] if index < given else kwargs.get(arg.name)
            if not arg.type.is_tensor:
                if item is not None:
                    attribute = self._literal(item, arg, symbols, left_out=info.schema.name in _VIEWS)
                    if attribute is not None:
                        properties[arg.name] = attribute
                continue
            before = len(operands)
            if arg.type.is_list:
                items = cast("Sequence[Any]", () if item is None else item)
                if isinstance(items, Node):
                    items = cast("Sequence[Any]", self._operands.value_of(items))
                if arg.type.element_optional:
                    properties[present(arg)] = attribute_of(tuple(i is not None for i in items), BOOL_LIST)
                operands.extend(self.tensor(entry) for entry in items if entry is not None)
            elif item is not None:
                operands.append(self.tensor(item))
            segments.append(len(operands) - before)
        if info.needs_segments:
            properties[SEGMENTS] = _segments((*segments, len(symbols)))
        if symbols:
            operands += symbols
        types: Sequence[Attribute] = _result_types(info, value, self._operands.translate)
        if cls.name in _MISDECLARED:
            declared = cls.create(operands=operands, result_types=types, properties=properties)
            types = cls.infer(declared) or types
            declared.drop_all_references()
        op = cls.create(operands=operands, result_types=types, properties=properties)
        self._operands.place(op)
        results = op.results
        if info.variadic_results or len(results) > 1:
            return tuple(results)
        return results[0] if results else None

    def tensor(self, item: Any) -> SSAValue:
        """The SSA value for something in a tensor slot; Python numbers become literals."""
        if isinstance(item, Node):
            item = self._operands.value_of(item)
        if isinstance(item, SSAValue):
            return cast("SSAValue[Attribute]", item)
        if isinstance(item, int | float):
            literal = LiteralOp(item)
            self._operands.place(literal)
            return literal.result
        raise UnsupportedNode(
            f"a value of type {type(item).__name__} is given where a tensor is expected", "pass a tensor"
        )

    def _literal(
        self, item: Any, arg: Arg, symbols: list[SSAValue], *, left_out: bool = False
    ) -> Attribute | None:
        """The property for a literal, or `None` to leave it out; run-time values are added to `symbols`.

        With `left_out`, one size may be -1 in place of a number that nothing has.
        """
        if isinstance(item, Node):
            item = self._operands.value_of(item)
            if item is None:
                return None
        match item:
            case SSAValue():
                if not arg.type.may_be_symbolic:
                    raise UnsupportedNode(
                        f"its argument '{arg.name}' is known only at run time", "make it a Python constant"
                    )
                symbols.append(cast("SSAValue[Attribute]", item))
                return DYNAMIC_ATTR
            case torch.dtype():
                try:
                    return element_type(item)
                except UnsupportedType as problem:
                    raise UnsupportedNode(
                        f"its argument '{arg.name}' is the unsupported dtype {item}", problem.fix
                    ) from None
            case torch.device():
                # Programs have no devices; only an argument that cannot be left out is kept.
                return None if arg.type.optional else attribute_of(item.type, arg.type)
            case torch.layout():
                if item not in _LAYOUTS:
                    raise UnsupportedNode(
                        f"its argument '{arg.name}' is the unsupported {item}", "use dense tensors"
                    )
                return None if arg.type.optional else attribute_of(_LAYOUTS[item], arg.type)
            case torch.memory_format():
                return attribute_of(_MEMORY_FORMATS[item], arg.type)
            case False if arg.name == "pin_memory":
                return None
            case list() | tuple() if arg.type.base in ("int", "SymInt"):
                values = cast("Sequence[Any]", item)
                if all(type(entry) is int for entry in values):
                    return _integers(tuple(values))
                entries: list[int] = []
                for place, entry in enumerate(values):
                    others = (*values[:place], *values[place + 1 :])
                    if left_out and self._operands.is_left_to_view(entry, others):
                        entries.append(-1)
                        continue
                    number: Any = self._operands.value_of(entry) if isinstance(entry, Node) else entry
                    if isinstance(number, SSAValue):
                        symbols.append(cast("SSAValue[Attribute]", number))
                        number = DYNAMIC
                    entries.append(int(number))
                return _integers(tuple(entries))
            case _:
                if arg.type.is_list and arg.type.list_size is not None and isinstance(item, int | float):
                    item = [item] * arg.type.list_size
                try:
                    return attribute_of(item, arg.type)
                except TypeError:
                    raise UnsupportedNode(
                        f"its argument '{arg.name}' is {item!r}, which is not of type {arg.type}",
                        "pass a plain Python value",
                    ) from None


def _result_types(info: OpInfo, value: Any, translate: Translation | None) -> list[Attribute]:
    returns = info.schema.returns
    if not returns:
        return []
    if len(returns) == 1 and not info.variadic_results:
        if value is None:
            raise UnsupportedNode("the node has no metadata that gives its type", "export the program again")
        return [result_type(value, translate)]
    if not isinstance(value, list | tuple):
        raise UnsupportedNode("the node has no metadata that gives its types", "export the program again")
    items = cast("Sequence[Any]", value)
    types = [result_type(item, translate) for item in items]
    first = next((type for type in types if is_tensor(type)), None)
    if first is None:
        return types
    # What an `output_mask` leaves out has no elements.
    return [
        TensorType(first.element_type, [0]) if item is None else type
        for item, type in zip(items, types, strict=True)
    ]
