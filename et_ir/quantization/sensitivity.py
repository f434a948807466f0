"""Errors that the operators of a module make in integers: of each alone, and of all together.

They are measured on the graph between `prepare_pt2e` and `convert_pt2e`, where an observer knows the scale of each
value that is to be quantized.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log10
from typing import Any, Final, cast

import torch
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from et_ir.frontend.sources import node_module_path
from et_ir.frontend.torch_registry import as_operator, schema_of
from et_ir.quantization.annotation import annotation_of
from et_ir.quantization.graphs import flat_inputs
from et_ir.quantization.operators import is_kept, operator_names, outer_paths
from et_ir.quantization.quantizer import place_of
from et_ir.quantization.simulation import Rounding, Values

__all__ = ["Coarse", "QuantizedOperator", "Remedy", "Sensitivities"]

LEAST: Final = 10.0
"""The ratio in dB below which a result counts as lost: a tenth of its energy, or a third of its amplitude, is error."""
GOOD: Final = 20.0
"""The ratio in dB that a remedy is to reach."""
_BATCHES: Final = 8
"""Maximum number of calibration data that are used, at equal distances."""
_CACHE_BYTES: Final = 2**29
"""Bytes of values that are kept, but for those of the last of the data."""

_NOWHERE: Final = frozenset[Node]()


@dataclass(frozen=True)
class QuantizedOperator:
    """An operator whose operands or result are quantized."""

    name: str
    """As `mel:add`: the path of the module that calls it, and the operator; `keep_float` takes it."""
    operator: str
    """With its namespace and overload, as `aten.add.Tensor`."""
    module: str
    """The path of the module that calls it."""
    place: str
    """The line of the user's code that calls it, as `net.py:12`; empty if it is not known."""
    own_sqnr: float
    """Signal to noise, in dB, where this operator alone is quantized: the least of the next quantized values and of the
    results of the module, whose means count as no signal."""
    output_sqnr: float
    """Of its result, in dB, with all operators quantized."""

    @property
    def subject(self) -> str:
        """Module, place and operator, for messages."""
        where = " ".join(part for part in (self.module, self.place and f"({self.place})") if part)
        return f"{where}: {self.operator}" if where else self.operator


@dataclass(frozen=True)
class Coarse:
    """An operator that stays in floats, as its values need more than 8 bits."""

    name: str
    """Its name."""
    reason: str
    """The result that would be lost."""


@dataclass(frozen=True)
class Remedy:
    """Operators to keep in floats for results that are not lost."""

    operators: tuple[QuantizedOperator, ...]
    """In the order in which they are called."""
    keep_float: tuple[str, ...]
    """Patterns of these: modules all of whose operators they are, and the names of others."""
    found_sqnr: float
    """Of the results of the module, in dB, with all operators quantized."""
    output_sqnr: float
    """Of the same with these in floats."""


@dataclass
class _Noise:
    """Energy of a signal about its mean, and of its error, over several tensors."""

    count: int = 0
    total: float = 0.0
    signal: float = 0.0
    error: float = 0.0

    def add(self, wanted: torch.Tensor, found: torch.Tensor) -> None:
        exact = wanted.detach().reshape(-1)
        exact = torch.view_as_real(exact) if exact.is_complex() else exact
        other = found.detach().reshape(-1)
        other = torch.view_as_real(other) if other.is_complex() else other
        exact, other = exact.double(), other.double()
        self.count += exact.numel()
        self.total += float(exact.sum())
        self.signal += float(exact.square().sum())
        self.error += float((exact - other).square().sum())

    @property
    def ratio(self) -> float:
        """In dB; about zero where all numbers are equal."""
        if not self.error:
            return inf
        if not self.error < inf:
            return -inf
        varying = self.signal - self.total**2 / self.count
        energy = varying if varying > 1e-9 * self.signal else self.signal
        return 10 * log10(energy / self.error) if energy > 0 else -inf


@dataclass
class _Operator:
    """The nodes of an operator and what is computed together with it, and the observers at its edges."""

    name: str
    head: Node
    last: Node
    observers: frozenset[Node]

    def results(self, observers: frozenset[Node]) -> list[Node]:
        """Where the result is: behind an observer, if it is quantized."""
        return [*(user for user in self.last.users if user in observers), self.last]


class Sensitivities:
    """Errors of the operators of a calibrated module, measured on some of the calibration data."""

    def __init__(
        self,
        prepared: GraphModule,
        batches: Sequence[tuple[Any, ...]],
        kwargs: Mapping[str, Any],
    ) -> None:
        step = max(1, -(-len(batches) // _BATCHES))
        self._batches = batches[::step]
        self._kwargs = kwargs
        self._module = prepared
        self._run = Rounding(prepared)
        self._operators = _operators(prepared, self._run.observers)
        self._outputs = next(node for node in reversed(prepared.graph.nodes) if node.op == "output")
        self._alone: dict[str, float] = {}
        """The least ratio of operators that are quantized alone, where that is known."""

    def coarse(self) -> list[Coarse]:
        """The operators that alone lose the next quantized value, or a result: those to keep in floats.

        From the last to the first: an operator that stays in floats passes on the errors of those before it.
        """
        exact = self._exact()
        found: list[Coarse] = []
        stopping = Counter(one for operator in self._operators for one in operator.observers)
        ratios: dict[str, float] = {}
        for operator in reversed(self._operators):
            stops = _Except(stopping, operator.observers)
            ratio = self._ratio(operator.observers, stops, exact)
            if ratio < LEAST:
                stopping.subtract(operator.observers)
                found.append(Coarse(operator.name, self._loss(operator, stops, exact)))
            ratios[operator.name] = ratio
        if not found and stopping.keys() == self._run.observers:
            self._alone = ratios
        return found[::-1]

    def _loss(self, operator: _Operator, stops: Container[Node], exact: list[Values]) -> str:
        """Where it is lost first: between the operator and what it was measured at."""
        noise = self._noise(operator.observers, stops, exact, everywhere=True)
        first = next(node for node, one in noise.items() if one.ratio < LEAST)
        node = self._source(first)
        place = place_of(node)
        where = f" ({place})" if place else ""
        ratio = noise[first].ratio
        left = f"have an SQNR of {ratio:.1f} dB" if ratio > -inf else "not be finite"
        return f"{_name_of(node)}{where} would {left}"

    def _source(self, node: Node) -> Node:
        """What makes a value that may be observed."""
        return node.all_input_nodes[0] if node in self._run.observers else node

    def report(self) -> tuple[tuple[QuantizedOperator, ...], Remedy | None]:
        """The operators, and what else to keep in floats."""
        exact = self._exact()
        together = self._together(exact)
        return tuple(self._operators_of(exact, together)), self._remedy(exact, together)

    def correct(self, shifts: Mapping[str, torch.Tensor]) -> None:
        """Take account of what is added to the results of layers, by the names of their nodes, if all is quantized."""
        self._run.shifts = {
            node: shifts[node.name] for node in self._module.graph.nodes if node.name in shifts
        }

    def _together(self, exact: list[Values]) -> dict[Node, _Noise]:
        return self._noise(self._run.observers.union(self._run.shifts), _NOWHERE, exact, everywhere=True)

    def operators(self, *, at_outputs: bool = False) -> list[QuantizedOperator]:
        """Each operator with its errors, in their order; `at_outputs`: in the results of the module alone."""
        exact = self._exact()
        together = self._together(exact)
        return self._operators_of(exact, together, at_outputs=at_outputs)

    def _operators_of(
        self, exact: list[Values], together: dict[Node, _Noise], *, at_outputs: bool = False
    ) -> list[QuantizedOperator]:
        everything = self._run.observers
        stopping = Counter(everything)
        found: list[QuantizedOperator] = []
        for one in self._operators:
            alone = None if at_outputs else self._alone.get(one.name)
            if alone is None:
                stops = _NOWHERE if at_outputs else _Except(stopping, one.observers)
                alone = self._ratio(one.observers, stops, exact)
            result = next((together[node] for node in one.results(everything) if node in together), _Noise())
            found.append(
                QuantizedOperator(
                    one.name,
                    str(one.head.target),
                    node_module_path(one.head),
                    place_of(one.head),
                    alone,
                    result.ratio,
                )
            )
        return found

    def _output_sqnr(self, kept: frozenset[str], exact: list[Values]) -> float:
        rounded = frozenset[Node]().union(*(one.observers for one in self._operators if one.name not in kept))
        return self._ratio(rounded, _NOWHERE, exact)

    def remedy(self) -> Remedy | None:
        """The fewest operators, those that lose most alone first, which have to stay in floats for good results; `None`
        if the results are not lost.
        """
        return self.report()[1]

    def _remedy(self, exact: list[Values], together: dict[Node, _Noise]) -> Remedy | None:
        if not self._operators:
            return None
        if self._run.observers == frozenset[Node]().union(*(one.observers for one in self._operators)):
            ratio = together[self._outputs].ratio if self._outputs in together else inf
        else:
            ratio = self._output_sqnr(frozenset(), exact)
        if ratio >= LEAST:
            return None
        ranked = sorted(self._operators_of(exact, together, at_outputs=True), key=lambda one: one.own_sqnr)
        least, most = 1, len(ranked)
        while least < most:
            middle = (least + most) // 2
            if self._output_sqnr(frozenset(one.name for one in ranked[:middle]), exact) >= GOOD:
                most = middle
            else:
                least = middle + 1
        names = frozenset(one.name for one in ranked[:most])
        order = {one.name: number for number, one in enumerate(self._operators)}
        chosen = sorted(ranked[:most], key=lambda one: order[one.name])
        patterns = _patterns([one.name for one in chosen], list(order))
        return Remedy(tuple(chosen), patterns, ratio, self._output_sqnr(names, exact))

    def _exact(self) -> list[Values]:
        """All values without rounding: of each of the data, as far as the limit of bytes allows."""
        found: list[Values] = []
        left = _CACHE_BYTES
        for batch in self._batches:
            if left <= 0:
                break
            with torch.no_grad():
                self._run.rounded = frozenset()
                self._run.run(*flat_inputs(self._module, batch, self._kwargs), enable_io_processing=False)
            found.append(self._run.values)
            left -= _bytes_of(self._run.values.values())
        return found

    def _ratio(self, rounded: frozenset[Node], stops: Container[Node], exact: list[Values]) -> float:
        """The least ratio, in dB, where errors stop and in the results."""
        noise = self._noise(rounded, stops, exact)
        return min((one.ratio for one in noise.values()), default=inf)

    def _noise(
        self,
        rounded: frozenset[Node],
        stops: Container[Node],
        exact: list[Values],
        *,
        everywhere: bool = False,
    ) -> dict[Node, _Noise]:
        """Noise where errors stop and in the results, or in all values but weights that they reach, in their order."""
        found: dict[Node, _Noise] = {}
        for values in exact:
            with torch.no_grad():
                for node, value in self._run.changed(values, rounded, stops):
                    is_wanted = node in stops or node is self._outputs
                    if not is_wanted and (not everywhere or self._source(node).op == "get_attr"):
                        continue
                    leaves = pytree.tree_leaves(values[node])
                    for wanted, other in zip(leaves, pytree.tree_leaves(value), strict=True):
                        if _is_real_or_complex(wanted) and wanted.shape == other.shape and wanted.numel():
                            found.setdefault(node, _Noise()).add(wanted, other)
        return found


@dataclass(frozen=True)
class _Except:
    """The nodes that are counted, but for some."""

    counted: Counter[Node]
    others: frozenset[Node]

    def __contains__(self, node: object) -> bool:
        return node not in self.others and self.counted[cast(Node, node)] > 0


def _operators(module: GraphModule, observers: frozenset[Node]) -> list[_Operator]:
    """The operators that are annotated, without views of what others make."""
    names = operator_names(module.graph)
    found: list[_Operator] = []
    for head in module.graph.nodes:
        annotation = annotation_of(head)
        if annotation is None or not annotation.input_qspec_map or _is_view(head):
            continue
        nodes = [head]
        while (further := _fused_with(nodes[-1])) is not None:
            nodes.append(further)
        edges = [one for node in nodes for one in (*node.all_input_nodes, *node.users) if one in observers]
        found.append(_Operator(names[head], head, nodes[-1], frozenset(edges)))
    return found


def _fused_with(node: Node) -> Node | None:
    """What is computed together with a node, after it."""
    for user in node.users:
        annotation = annotation_of(user)
        if annotation is not None and not annotation.input_qspec_map:
            return user
    return None


def _is_view(node: Node) -> bool:
    target = as_operator(node.target)
    return target is not None and any(
        one.alias_info is not None and not one.alias_info.is_write for one in schema_of(target).returns
    )


def _bytes_of(values: Iterable[Any]) -> int:
    """The bytes of tensors, of which several may be views of the same."""
    tensors = [leaf for leaf in pytree.tree_leaves(list(values)) if isinstance(leaf, torch.Tensor)]
    storages = {one.untyped_storage().data_ptr(): one.untyped_storage().nbytes() for one in tensors}
    return sum(storages.values())


def _is_real_or_complex(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


def _patterns(chosen: list[str], names: list[str]) -> tuple[str, ...]:
    """Few patterns that match all names that are chosen, and no other ones."""
    others = [name for name in names if name not in chosen]
    found: list[str] = []
    for name in chosen:
        paths = outer_paths(name.partition(":")[0])
        modules = [path for path in paths if not any(is_kept(one, [path]) for one in others)]
        found.append(modules[0] if modules else name)
    return tuple(dict.fromkeys(found))


def _name_of(node: Node) -> str:
    return "the results" if node.op == "output" else str(node.target)
