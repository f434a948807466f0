"""A program as Python: a module that torch can run, export, and a reader can run by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from property.programs import (
    DTYPES,
    Argument,
    Body,
    Buffer,
    Call,
    Cond,
    Element,
    Extent,
    Map,
    Node,
    Program,
    Read,
    Scan,
    Update,
    Var,
    While,
    bodies,
    free,
    walk,
)

__all__ = ["HEADER", "python", "size_source"]

HEADER = '''import torch
from torch import nn
from torch._higher_order_ops.map import map as map_
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

aten, cond = torch.ops.aten, torch.cond


def fresh(x):
    """The contiguous copy that branches and bodies return, as they may not return their operands."""
    return x.clone(memory_format=torch.contiguous_format)
'''
"""The prologue of a program's text."""

INDENT = "    "


def python(program: Program) -> str:
    """The class `Model` of a program."""
    lines = ["class Model(nn.Module):", "    def __init__(self):", "        super().__init__()"]
    lines += [f"        {_declaration(buffer)}" for buffer in program.buffers]
    inputs = ", ".join(["self", *(each.var.name for each in program.inputs)])
    lines += ["", f"    def forward({inputs}):"]
    if program.sizes is not None:
        lines.append(f"        {size_source(program)}")
    lines += [f"        {line}" for line in _Writer(program).body(program.body)]
    lines.append(f"        return {_tuple(map(_name, program.body.outputs))}")
    return "\n".join(lines) + "\n"


def size_source(program: Program) -> str:
    """The statement that gives `n` its value."""
    for each in program.inputs:
        for dim, size in enumerate(each.var.type.shape):
            if size == Extent():
                return f"n = {each.var.name}.shape[{dim}]"
    raise ValueError("no input has the size n")


def _declaration(buffer: Buffer) -> str:
    dtype, shape = DTYPES[buffer.type.element], list(buffer.type.shape)
    if buffer.initial is None:
        value = f"torch.zeros({shape}, dtype={dtype})"
    else:
        value = f"torch.tensor({list(buffer.initial)}, dtype={dtype}).reshape({shape})"
    return f"self.register_buffer({buffer.name!r}, {value})"


def _name(var: Var) -> str:
    return var.name


def _fresh(var: Var) -> str:
    return f"fresh({var.name})"


def _is_view(node: Call) -> bool:
    """Whether what a call gives may be memory of its argument."""
    return any(each.alias_info is not None for each in _schema(node.operator).returns)


def _schema(operator: str) -> Any:
    packet, _, overload = _overload(operator).partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload)._schema


def _tuple(items: Iterator[str]) -> str:
    texts = list(items)
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _argument(argument: Argument) -> str:
    match argument:
        case Var():
            return argument.name
        case Element():
            return str(DTYPES[argument.name])
        case Extent():
            return str(argument)
        case tuple():
            return f"[{', '.join(map(_argument, argument))}]"
        case _:
            return repr(argument)


def _arguments(node: Call) -> Iterator[str]:
    for declared, argument in zip(_schema(node.operator).arguments, node.arguments, strict=False):
        yield f"{declared.name}={_argument(argument)}" if declared.kwarg_only else _argument(argument)


class _Writer:
    def __init__(self, program: Program):
        self._count = 0
        self._last_write: dict[Buffer, int] = {}
        self._position: dict[int, int] = {}
        self._captured: set[Var] = set()
        """Outer values used by bodies, of which none may be a view of another."""
        for node in walk(program.body):
            self._captured.update(*map(free, bodies(node)))
        for at, node in enumerate(program.body.nodes):
            if isinstance(node, Update):
                self._last_write[node.buffer] = at
            for inner in _all_nodes(node):
                self._position[id(inner)] = at

    def body(self, body: Body) -> Iterator[str]:
        for node in body.nodes:
            yield from self._node(node)

    def _node(self, node: Node) -> Iterator[str]:
        targets = ", ".join(map(_name, node.results))
        if len(node.results) == 1 and not isinstance(node, Call | Read):
            targets += ","
        match node:
            case Call():
                call = f"aten.{_overload(node.operator)}({', '.join(_arguments(node))})"
                many = len(node.results) == 1 and node.is_list
                yield f"{targets}{',' if many else ''} = {call}"
                if _is_view(node):
                    for var in node.results:
                        if var in self._captured:
                            yield f"{var.name} = fresh({var.name})"
            case Read():
                written = self._last_write.get(node.buffer, -1) > self._position[id(node)]
                yield f"{targets} = self.{node.buffer.name}{'.clone()' if written else ''}"
            case Update():
                yield _update(node)
            case Cond():
                then, otherwise = self._name_of("then"), self._name_of("otherwise")
                yield from self._function(then, node.then)
                yield from self._function(otherwise, node.otherwise)
                predicate = (
                    node.predicate.name if isinstance(node.predicate, Var) else f"n > {node.predicate}"
                )
                yield f"{targets} = cond({predicate}, {then}, {otherwise}, ())"
            case While():
                condition, body = self._name_of("condition"), self._name_of("body")
                yield from self._function(condition, node.condition, single=True)
                yield from self._function(body, node.body)
                yield f"{targets} = while_loop({condition}, {body}, {_tuple(map(_fresh, node.inits))})"
            case Map():
                body = self._name_of("each")
                yield from self._function(body, node.body, packed=0)
                yield f"{targets} = map_({body}, {_tuple(map(_fresh, node.sequences))})"
            case Scan():
                body, count = self._name_of("step"), len(node.inits)
                yield from self._function(body, node.body, packed=count, split=count)
                carried, stacked = node.results[:count], node.results[count:]
                inits, sequences = (_tuple(map(_fresh, each)) for each in (node.inits, node.sequences))
                left = ", ".join(_tuple(map(_name, each)) for each in (carried, stacked))
                yield f"{left} = scan({body}, {inits}, {sequences})"

    def _name_of(self, what: str) -> str:
        self._count += 1
        return f"{what}_{self._count}"

    def _function(
        self,
        name: str,
        body: Body,
        *,
        single: bool = False,
        packed: int | None = None,
        split: int | None = None,
    ) -> Iterator[str]:
        """A body as a function. From `packed` on, its parameters are one tuple, and all before are another; outputs
        before and from `split` on are two tuples; a `single` output is none.
        """
        names = [var.name for var in body.params]
        if packed is None:
            yield f"def {name}({', '.join(names)}):"
        else:
            yield f"def {name}({'state, ' if packed else ''}items):"
            if packed:
                yield f"{INDENT}{_tuple(iter(names[:packed]))} = state"
            yield f"{INDENT}{_tuple(iter(names[packed:]))} = items"
        yield from (INDENT + line for line in self.body(body))
        outputs = [_fresh(var) for var in body.outputs]
        if single:
            yield f"{INDENT}return {body.outputs[0].name}"
        elif split is None:
            yield f"{INDENT}return {_tuple(iter(outputs))}"
        else:
            yield f"{INDENT}return {_tuple(iter(outputs[:split]))}, {_tuple(iter(outputs[split:]))}"


def _all_nodes(node: Node) -> Iterator[Node]:
    yield node
    for body in bodies(node):
        for inner in body.nodes:
            yield from _all_nodes(inner)


def _overload(operator: str) -> str:
    return operator if "." in operator else f"{operator}.default"


def _update(node: Update) -> str:
    buffer, arguments = f"self.{node.buffer.name}", [_argument(argument) for argument in node.arguments]
    *where, value = arguments
    match node.kind:
        case "copy" | "add":
            return f"{buffer}.{node.kind}_({value})"
        case "slice":
            return f"aten.slice.Tensor({buffer}, {', '.join(where)}).copy_({value})"
        case "select":
            return f"aten.select.int({buffer}, {', '.join(where)}).copy_({value})"
        case "index_put":
            return f"aten.index_put_.default({buffer}, {', '.join(arguments)})"
        case _:
            return f"aten.index_copy_.default({buffer}, {', '.join(arguments)})"
