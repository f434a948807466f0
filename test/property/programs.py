"""Programs as data: calls of operators, control flow, and state, on tensors of known types.

Three things are made of one: Python for torch (`source.py`), a module of the `aten` dialect (`build.py`), and smaller
programs (`shrink.py`). Values mean what they were when they were computed: what was read of a buffer stays when the
buffer is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch

__all__ = [
    "DTYPES",
    "Argument",
    "Body",
    "Buffer",
    "Call",
    "Cond",
    "Element",
    "Extent",
    "Input",
    "Map",
    "Node",
    "Program",
    "Read",
    "Scan",
    "Size",
    "Type",
    "Update",
    "Var",
    "While",
    "bodies",
    "free",
    "size_at",
    "used",
    "walk",
]

DTYPES = {"f32": torch.float32, "i64": torch.int64, "i1": torch.bool}


class Extent(NamedTuple):
    """A size that depends on `n`, the size known at run time only: `scale * n + offset`."""

    scale: int = 1
    offset: int = 0

    def __str__(self) -> str:
        text = "n" if self.scale == 1 else f"{self.scale} * n"
        return text if not self.offset else f"({text} {'-' if self.offset < 0 else '+'} {abs(self.offset)})"


Size = int | Extent


def size_at(size: Size, n: int) -> int:
    """A size where `n` is known."""
    return size.scale * n + size.offset if isinstance(size, Extent) else size


class Type(NamedTuple):
    """Element type (`f32`, `i64` or `i1`) and sizes."""

    element: str
    shape: tuple[Size, ...] = ()

    def sizes(self, n: int) -> tuple[int, ...]:
        """The sizes where `n` is known."""
        return tuple(size_at(size, n) for size in self.shape)


class Element(NamedTuple):
    """An element type as an argument."""

    name: str


@dataclass(frozen=True, eq=False)
class Var:
    """A value. It is the one that has this identity; names are for reading."""

    name: str
    type: Type


Argument = Var | Extent | Element | int | float | bool | None | tuple["Var | Extent | int", ...]


@dataclass(frozen=True)
class Call:
    """A call of an operator of torch's, with the arguments of its schema."""

    results: tuple[Var, ...]
    operator: str
    arguments: tuple[Argument, ...]
    is_list: bool = False
    """Whether the operator gives a list, of as many as there are results."""


@dataclass(frozen=True)
class Body:
    """The body of a branch or of a loop; it sees the values around it."""

    params: tuple[Var, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Var, ...]


@dataclass(frozen=True)
class Cond:
    """One of two bodies without parameters. A predicate is a tensor of one boolean, or `n > limit`."""

    results: tuple[Var, ...]
    predicate: Var | int
    then: Body
    otherwise: Body


@dataclass(frozen=True)
class While:
    """A body repeated on what it gives, as long as `condition` does."""

    results: tuple[Var, ...]
    inits: tuple[Var, ...]
    condition: Body
    body: Body


@dataclass(frozen=True)
class Map:
    """A body applied to the slices of tensors; its outputs are stacked."""

    results: tuple[Var, ...]
    sequences: tuple[Var, ...]
    body: Body


@dataclass(frozen=True)
class Scan:
    """A body applied to a state and the slices of tensors, giving the next state and what is stacked."""

    results: tuple[Var, ...]
    inits: tuple[Var, ...]
    sequences: tuple[Var, ...]
    body: Body


@dataclass(frozen=True, eq=False)
class Buffer:
    """State, zero at first or the numbers given, in row-major order."""

    name: str
    type: Type
    initial: tuple[float, ...] | None


@dataclass(frozen=True)
class Read:
    """The content of a buffer, as it is now."""

    results: tuple[Var, ...]
    buffer: Buffer


@dataclass(frozen=True)
class Update:
    """A write to a buffer; only the program itself has them, not the bodies in it.

    `kind` is the operator that writes: `copy`, `add` (one argument, the value), `slice` (dim, start, end, value),
    `select` (dim, index, value), `index_put` (indices, value, accumulate), `index_copy` (dim, index, value).
    """

    buffer: Buffer
    kind: str
    arguments: tuple[Argument, ...]
    results: tuple[Var, ...] = ()


Node = Call | Cond | While | Map | Scan | Read | Update


@dataclass(frozen=True)
class Input:
    """An input, and the range its elements are drawn from."""

    var: Var
    low: float
    high: float


@dataclass(frozen=True)
class Program:
    """A method `forward`, and what it is run with."""

    seed: int
    inputs: tuple[Input, ...]
    buffers: tuple[Buffer, ...]
    body: Body
    sizes: tuple[int, int] | None = field(default=None)
    """The range of `n`, if the program has it; it is the first size of that kind among the inputs."""

    def with_body(self, nodes: tuple[Node, ...], outputs: tuple[Var, ...]) -> Program:
        """The program with another body."""
        return replace(self, body=Body((), nodes, outputs))


def bodies(node: Node) -> tuple[Body, ...]:
    """The bodies in a node."""
    match node:
        case Cond():
            return node.then, node.otherwise
        case While():
            return node.condition, node.body
        case Map() | Scan():
            return (node.body,)
        case _:
            return ()


def used(node: Node) -> Iterator[Var]:
    """Operands of the node itself, without its bodies."""
    match node:
        case Call() | Update():
            for argument in node.arguments:
                items = argument if type(argument) is tuple else (argument,)
                yield from (item for item in items if isinstance(item, Var))
        case Cond():
            if isinstance(node.predicate, Var):
                yield node.predicate
        case While():
            yield from node.inits
        case Map():
            yield from node.sequences
        case Scan():
            yield from (*node.inits, *node.sequences)
        case Read():
            pass


def free(body: Body) -> set[Var]:
    """Outer values used by a body."""
    found = set(body.outputs)
    own = set(body.params)
    for node in body.nodes:
        found.update(used(node))
        own.update(node.results)
        for inner in bodies(node):
            found |= free(inner)
    return found - own


def walk(body: Body) -> Iterator[Node]:
    """All nodes, those in bodies too."""
    for node in body.nodes:
        yield node
        for inner in bodies(node):
            yield from walk(inner)
