"""Levels of a program side by side: texts, and which ops came down to which.

Ops of two levels belong together if they come from one node of the exported graph; where one of them names no node, if
they come from one line of Python in one module; and declarations of one symbol. A call of a delegate has the nodes of
all that the delegate took.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

from et_ir.analysis.op_counts import count_ops
from et_ir.dialects.backend import LoweredOp, NamedDataOp
from et_ir.dialects.executorch import PlanOp
from et_ir.dialects.program import GlobalOp
from et_ir.emit.debug_handles import instructions_of
from et_ir.locations import frames_of, module_path, node_name
from et_schema.errors import InvalidFile

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Attribute, Operation

__all__ = ["LEVELS", "LevelFacts", "Place", "check_instructions", "level_facts", "with_places"]

LEVELS: Final = ("aten", "core-aten", "edge", "backend", "executorch")
LONGEST: Final = 400
"""Characters of a line: those of constants may be much longer."""

LevelFacts = dict[str, Any]
"""`name`; `lines` of text; `count`, the number of ops as `et-compile` counts them; `ops`, for each op of the text
`[line, nodes, place, method, instruction]`: nodes and places by the numbers of their keys, -1 for no place and no
instruction; `inputs`, by method the names of its inputs, empty where they have none; `weights`, of each constant the
SHA-256 of its bytes, its name, and whether that is the program's rather than a backend's.
"""

Place = tuple[str, str, str]
"""Module, file and line."""
Keys = dict[tuple[str, ...], int]
"""Numbers of nodes and places, the same in all levels of a program."""


class _Lines(io.StringIO):
    """A text that knows how many lines of it there are."""

    def __init__(self) -> None:
        super().__init__()
        self.line = 0

    def write(self, s: str, /) -> int:
        self.line += s.count("\n")
        return super().write(s)


def level_facts(name: str, module: ModuleOp, keys: Keys) -> LevelFacts:
    """The text of a module, and its ops with the nodes and places that they come from, numbered in `keys`."""
    text, starts = _printed(module)
    origins = _Origins(module, keys)
    ops = [[line, *origins.of(op)] for op, line in starts]
    return {
        "name": name,
        "lines": [_cut(line) for line in text.splitlines()],
        "count": count_ops(module).total(),
        "ops": ops,
        "inputs": _input_names(module),
        "weights": list(_weight_names(module)),
    }


def _input_names(module: ModuleOp) -> dict[str, list[str]]:
    """The names of the inputs of each method, where the level has them."""
    from xdsl.dialects.builtin import StringAttr
    from xdsl.dialects.func import FuncOp

    found: dict[str, list[str]] = {}
    for op in module.body.block.ops:
        if isinstance(op, FuncOp):
            attributes = op.arg_attrs.data if op.arg_attrs is not None else ()
            names = [entry.data.get("program.name") for entry in attributes]
            found[op.sym_name.data] = [name.data if isinstance(name, StringAttr) else "" for name in names]
    return found


def _weight_names(module: ModuleOp) -> Iterator[tuple[str, str, bool]]:
    """The constants of a level: the SHA-256 of the bytes of each, its name, and whether that is the program's; of data
    for delegates, backends give the names.
    """
    for op in module.body.block.ops:
        if isinstance(op, NamedDataOp):
            yield op.value.blob.sha256, op.value.blob.key, False
        elif isinstance(op, GlobalOp) and op.value is not None:
            yield op.value.blob.sha256, op.key, True


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 2]} …"


def _printed(module: ModuleOp) -> tuple[str, list[tuple[Operation, int]]]:
    """The text, and the line at which each op begins, but for the module itself."""
    from xdsl.printer import Printer

    starts: list[tuple[Operation, int]] = []

    class Noting(Printer):
        def print_op(self, op: Operation) -> None:
            starts.append((op, stream.line))
            super().print_op(op)

    stream = _Lines()
    Noting(cast("TextIO", stream)).print_op(module)
    return stream.getvalue(), starts[1:]


class _Origins:
    """Where ops come from."""

    def __init__(self, module: ModuleOp, keys: Keys) -> None:
        from xdsl.dialects.builtin import SymbolRefAttr

        self._keys = keys
        self._methods: dict[Operation, str] = {}
        self._instructions: dict[Operation, int] = {}
        self._users: dict[str, list[str]] = {}
        """The methods that name a symbol."""
        self._lowered = {op.key: op for op in module.body.block.ops if isinstance(op, LoweredOp)}
        for top in module.body.block.ops:
            symbol = getattr(top, "sym_name", None)
            if not top.regions or symbol is None:
                continue
            name = top.key if isinstance(top, PlanOp) else str(symbol.data)
            for op in top.walk():
                self._methods[op] = name
                for attribute in op.properties.values():
                    if isinstance(attribute, SymbolRefAttr):
                        users = self._users.setdefault(attribute.string_value(), [])
                        if name not in users:
                            users.append(name)
            if isinstance(top, PlanOp):
                self._instructions |= {op: at for at, op in enumerate(instructions_of(top))}

    def of(self, op: Operation) -> tuple[list[int], int, str, int]:
        """Nodes, place, method and instruction."""
        method = self._methods.get(op, "")
        parent = op.parent_op()
        if parent is not None and parent.parent_op() is None:
            return self._symbol(op), -1, method, -1
        nodes = {node: None for location in self._locations(op) for node in _nodes(location)}
        place = _place(op.location)
        return (
            [self._number("node", method, node) for node in nodes],
            -1 if place is None else self._number("place", method, *place),
            method,
            self._instructions.get(op, -1),
        )

    def _symbol(self, op: Operation) -> list[int]:
        """The symbol of a declaration, and the nodes that it was made for in the methods that name it."""
        symbol = getattr(op, "sym_name", None)
        if symbol is None:
            return []
        name = str(symbol.data)
        made = [
            self._number("node", method, node)
            for method in self._users.get(name, ())
            for node in _nodes(op.location)
        ]
        return [self._number("symbol", name), *made]

    def _locations(self, op: Operation) -> Iterator[Attribute]:
        """The op's own location, and those of what the delegate took that it calls."""
        from xdsl.dialects.builtin import ArrayAttr, SymbolRefAttr

        yield op.location
        callee = op.properties.get("callee")
        lowered = self._lowered.get(callee.string_value()) if isinstance(callee, SymbolRefAttr) else None
        if lowered is None:
            return
        yield lowered.location
        if lowered.debug_handles is None:
            return
        for value in lowered.debug_handles.data.values():
            if isinstance(value, ArrayAttr):
                yield from cast("ArrayAttr[Attribute]", value).data

    def _number(self, *key: str) -> int:
        return self._keys.setdefault(key, len(self._keys))


def _nodes(location: Attribute) -> Iterator[str]:
    """All nodes that a location names: a fused one may name several."""
    from xdsl.dialects.builtin import CallSiteLoc, FusedLoc, NameLoc

    match location:
        case NameLoc():
            name = node_name(location)
            if name:
                yield name
            else:
                yield from _nodes(location.location)
        case CallSiteLoc():
            yield from _nodes(location.callee)
            yield from _nodes(location.caller)
        case FusedLoc():
            for part in cast("Sequence[Attribute]", location.locations.data):
                yield from _nodes(part)
        case _:
            pass


def _place(location: Attribute) -> Place | None:
    """Module, file and line of the innermost frame."""
    frames = frames_of(location)
    return (module_path(location), frames[-1].filename, str(frames[-1].lineno)) if frames else None


def with_places(
    level: LevelFacts, rows: Mapping[str, Sequence[tuple[int, Sequence[str], Place | None]]], keys: Keys
) -> LevelFacts:
    """The level of instructions with what a debug map says of them: by method, an instruction, its nodes, its place."""
    known = {(method, row[0]): row[1:] for method, listed in rows.items() for row in listed}
    ops: list[list[Any]] = []
    for line, nodes, place, method, instruction in level["ops"]:
        found = known.get((method, instruction))
        if found is None:
            ops.append([line, nodes, place, method, instruction])
            continue
        numbers = [keys.setdefault(("node", method, node), len(keys)) for node in found[0]]
        where = -1 if found[1] is None else keys.setdefault(("place", method, *found[1]), len(keys))
        ops.append([line, numbers, where, method, instruction])
    return level | {"ops": ops}


def check_instructions(level: LevelFacts, counts: Mapping[str, int], where: str) -> None:
    """Raises InvalidFile unless the level has the instructions of a program, of which `counts` has each method's."""
    found: dict[str, int] = {}
    for *_, method, instruction in level["ops"]:
        if instruction >= 0:
            found[method] = max(found.get(method, 0), instruction + 1)
    if found != {method: count for method, count in counts.items() if count}:
        raise InvalidFile("the text is of another program", where=where)
