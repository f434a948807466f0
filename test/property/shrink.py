"""A smaller program that fails in the same way: nodes, results, inputs and whole branches are left out while it does.

What is left out is replaced by another value of its type, or by a constant, so that every program that is tried has the
right types. Whether it is one at all (indices in range, loops that end) torch says when it runs it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from property.programs import (
    Argument,
    Body,
    Call,
    Cond,
    Extent,
    Input,
    Map,
    Node,
    Program,
    Read,
    Scan,
    Type,
    Update,
    Var,
    While,
    bodies,
    free,
    used,
    walk,
)

__all__ = ["shrink"]

MOST_INPUTS: Final = 8
RANGES: Final = {"f32": (0.5, 2.0), "i64": (0, 1), "i1": (0, 1)}
"""Of inputs that stand for what was computed: numbers with which most can be done."""


def shrink(program: Program, fails: Callable[[Program], bool], seconds: float) -> Program:
    """The smallest program found in that time that `fails`, as `program` does."""
    end = time.monotonic() + seconds
    found = program
    while True:
        for smaller in _smaller(found):
            if time.monotonic() > end:
                return found
            if fails(smaller):
                found = smaller
                break
        else:
            return found


def _smaller(program: Program) -> Iterator[Program]:
    """Programs that are a step smaller, the largest steps first."""
    yield from _without_what_is_unused(program)
    outputs = program.body.outputs
    if len(outputs) > 1:
        for var in outputs:
            yield program.with_body(program.body.nodes, (var,))
        for at in range(len(outputs)):
            yield program.with_body(program.body.nodes, outputs[:at] + outputs[at + 1 :])
    # The newest first: fewer other nodes use them.
    nodes = [*walk(program.body)][::-1]
    for node in nodes:
        if not isinstance(node, Call):
            yield _Copy(without=node).program(program)
    for node in nodes:
        for body in bodies(node) if isinstance(node, Cond | While) else ():
            if not (isinstance(node, While) and body is node.condition):
                yield _Copy(inline=(node, body)).program(program)
    for node in nodes:
        if isinstance(node, Call):
            yield _Copy(without=node).program(program)
            if len(node.results) == 1 and len(program.inputs) < MOST_INPUTS:
                copy = _Copy(without=node, as_input=True)
                smaller = copy.program(program)
                yield replace(smaller, inputs=(*smaller.inputs, *copy.inputs))
    for node in nodes:
        if isinstance(node, Cond | While | Map | Scan) and len(node.results) > 1:
            for at in range(len(node.results)):
                smaller = _without_result(node, at)
                if smaller is not None:
                    yield _Copy(instead=(node, smaller, at)).program(program)
    if any(buffer.initial is not None for buffer in program.buffers):
        for buffer in program.buffers:
            if buffer.initial is not None:
                yield _Copy(zero=buffer.name).program(program)


def _without_what_is_unused(program: Program) -> Iterator[Program]:
    """Without nodes, inputs and buffers that nothing uses, if there are any."""
    body = _live(program.body)
    touched = {node.buffer for node in walk(body) if isinstance(node, Read | Update)}
    buffers = tuple(buffer for buffer in program.buffers if buffer in touched)
    if sum(1 for _ in walk(body)) < sum(1 for _ in walk(program.body)) or len(buffers) < len(program.buffers):
        yield replace(program, body=body, buffers=buffers)
    needed = free(program.body)
    inputs = tuple(each for each in program.inputs if each.var in needed)
    if 0 < len(inputs) < len(program.inputs):
        sized = any(size == Extent() for each in inputs for size in each.var.type.shape)
        if sized or program.sizes is None:
            yield replace(program, inputs=inputs)
        elif not any(isinstance(size, Extent) for size in _sizes(program)):
            yield replace(program, inputs=inputs, sizes=None)


def _sizes(program: Program) -> Iterator[object]:
    for node in walk(program.body):
        for var in node.results:
            yield from var.type.shape
        if isinstance(node, Call):
            yield from node.arguments
        if isinstance(node, Cond) and isinstance(node.predicate, int):
            yield Extent()


def _live(body: Body) -> Body:
    """A body without the nodes that nothing uses."""
    needed = set(body.outputs)
    kept: list[Node] = []
    for node in reversed(body.nodes):
        if not isinstance(node, Update) and needed.isdisjoint(node.results):
            continue
        needed.update(used(node))
        for inner in bodies(node):
            needed |= free(inner)
        kept.append(_with_bodies(node, [_live(inner) for inner in bodies(node)]))
    return Body(body.params, tuple(reversed(kept)), body.outputs)


def _with_bodies(node: Node, inner: Sequence[Body]) -> Node:
    match node:
        case Cond():
            return replace(node, then=inner[0], otherwise=inner[1])
        case While():
            return replace(node, condition=inner[0], body=inner[1])
        case Map() | Scan():
            return replace(node, body=inner[0])
        case _:
            return node


def _drop(items: tuple[Var, ...], at: int) -> tuple[Var, ...]:
    return items[:at] + items[at + 1 :]


def _without_result(node: Node, at: int) -> Node | None:
    """The node without one of its results, which is not carried anymore if it was. The parameters are left over."""
    match node:
        case Cond():
            then, otherwise = (
                Body((), body.nodes, _drop(body.outputs, at)) for body in (node.then, node.otherwise)
            )
            return replace(node, results=_drop(node.results, at), then=then, otherwise=otherwise)
        case While():
            condition, body = node.condition, node.body
            return While(
                _drop(node.results, at),
                _drop(node.inits, at),
                replace(condition, params=_drop(condition.params, at)),
                Body(_drop(body.params, at), body.nodes, _drop(body.outputs, at)),
            )
        case Map():
            return replace(
                node,
                results=_drop(node.results, at),
                body=replace(node.body, outputs=_drop(node.body.outputs, at)),
            )
        case Scan():
            body = Body(node.body.params, node.body.nodes, _drop(node.body.outputs, at))
            inits = node.inits
            if at < len(inits):
                inits, body = _drop(inits, at), replace(body, params=_drop(body.params, at))
            elif len(node.results) == len(inits) + 1:
                return None
            return replace(node, results=_drop(node.results, at), inits=inits, body=body)
        case _:
            return None


class _Copy:
    """A copy of a program with one change: `without` a node (a new input stands for it, if `as_input`), with a body
    `inline` in the place of its node, with a node `instead` of another that lacks one result, or with a buffer that is
    zero at first.
    """

    def __init__(
        self,
        without: Node | None = None,
        inline: tuple[Node, Body] | None = None,
        instead: tuple[Node, Node, int] | None = None,
        zero: str | None = None,
        as_input: bool = False,
    ):
        self.without = without
        self.inline = inline
        self.instead = instead
        self.zero = zero
        self.as_input = as_input
        self.inputs: list[Input] = []
        self.now: dict[Var, Var] = {}
        self.count = 0
        self.named = ""

    def program(self, program: Program) -> Program:
        if self.zero is not None:
            zeroed = {b: replace(b, initial=None) for b in program.buffers if b.name == self.zero}
            buffers = tuple(zeroed.get(buffer, buffer) for buffer in program.buffers)
            nodes = tuple(
                replace(node, buffer=zeroed.get(node.buffer, node.buffer))
                if isinstance(node, Read | Update)
                else node
                for node in program.body.nodes
            )
            return replace(program, buffers=buffers, body=replace(program.body, nodes=nodes))
        return replace(program, body=self._body(program.body, [each.var for each in program.inputs]))

    def _body(self, body: Body, visible: Sequence[Var]) -> Body:
        seen = [*visible, *body.params]
        nodes: list[Node] = []
        self._nodes(body.nodes, seen, nodes)
        return Body(body.params, tuple(nodes), self._all(body.outputs))

    def _nodes(self, nodes: Sequence[Node], seen: list[Var], copied: list[Node]) -> None:
        for node in nodes:
            if node is self.without:
                for var in node.results:
                    self.named = var.name
                    self.now[var] = self._substitute(var.type, seen, copied)
                continue
            if self.inline is not None and node is self.inline[0]:
                body = self.inline[1]
                if isinstance(node, While):
                    self.now.update(zip(body.params, self._all(node.inits), strict=True))
                self._nodes(body.nodes, seen, copied)
                self.now.update(zip(node.results, self._all(body.outputs), strict=True))
                continue
            made = node
            if self.instead is not None and node is self.instead[0]:
                _, made, at = self.instead
                self.now[node.results[at]] = self._substitute(node.results[at].type, seen, copied)
                if isinstance(node, While | Scan) and at < len(node.inits):
                    (init,) = self._all((node.inits[at],))
                    for body in bodies(node):
                        self.now[body.params[at]] = init
            copied.append(self._node(made, seen))
            seen.extend(made.results)

    def _substitute(self, type: Type, seen: Sequence[Var], copied: list[Node]) -> Var:
        if self.as_input and all(isinstance(size, int) or size == Extent() for size in type.shape):
            var = Var(f"y_{self.named}", type)
            self.inputs.append(Input(var, *RANGES[type.element]))
            return var
        for var in seen:
            if var.type == type:
                return self.now.get(var, var)
        self.count += 1
        var = Var(f"c{self.count}_{len(copied)}", type)
        number = {"f32": 0.5, "i64": 1, "i1": True}[type.element]
        copied.append(Call((var,), "full", (tuple(type.shape), number)))
        return var

    def _all(self, vars: Sequence[Var]) -> tuple[Var, ...]:
        return tuple(self.now.get(var, var) for var in vars)

    def _argument(self, argument: Argument) -> Argument:
        if isinstance(argument, Var):
            return self.now.get(argument, argument)
        if type(argument) is tuple:
            return tuple(self.now.get(item, item) if isinstance(item, Var) else item for item in argument)
        return argument

    def _node(self, node: Node, seen: Sequence[Var]) -> Node:
        inner = [self._body(body, seen) for body in bodies(node)]
        node = _with_bodies(node, inner)
        match node:
            case Call() | Update():
                return replace(node, arguments=tuple(map(self._argument, node.arguments)))
            case Cond():
                predicate = node.predicate
                return replace(
                    node,
                    predicate=self.now.get(predicate, predicate) if isinstance(predicate, Var) else predicate,
                )
            case While():
                return replace(node, inits=self._all(node.inits))
            case Map():
                return replace(node, sequences=self._all(node.sequences))
            case Scan():
                return replace(node, inits=self._all(node.inits), sequences=self._all(node.sequences))
            case _:
                return node
