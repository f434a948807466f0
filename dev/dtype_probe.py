"""Write `dtype_table.txt`: operand and result types of torch's CPU kernels for every edge operator.

python -m dev.dtype_probe            # rewrite the table, which takes a minute
python -m dev.dtype_probe --check    # exit 1 if it is out of date

The dialect takes what torch takes on every CPU: the table is made with oneDNN off. Which operators and which types
torch hands to oneDNN depends on the instructions of the CPU (f16 arithmetic, AMX), and what is handed over is checked
less: a convolution's gradient in f16 with a weight in i8 is then taken. Torch's own kernels take the same types at
every instruction set, as `test/conformance/test_edge_dtypes.py` checks with the instructions capped.

Each operator is called with small arguments that torch takes, again for every combination of element types. Arguments
that `promote-types` brings to one type change together, and so do arguments that torch refuses to change alone. What
a combination gives decides its row: the type of an argument, a fixed one, or one that a literal decides.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any, Final, cast

import torch

from dev.calls import DTYPES, RecordedCall, results_of
from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.edge.dtypes import CLASSES, TABLE
from et_ir.dialects.edge.quantized_types import QUANTIZED_ROWS
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_ops import OPERATORS
from et_ops.dtypes import DType, as_float, real_of

__all__ = ["COMMAND", "Probe", "probe_of", "probed", "rows_of"]

COMMAND: Final = "python -m dev.dtype_probe"

aten: Any = torch.ops.aten

_DTYPE: Final = {dtype: dtype_of(ELEMENT_TYPES[name]) for dtype, name in DTYPES.items()}
_TORCH: Final = {mine: dtype for dtype, mine in _DTYPE.items()}
_TYPES: Final = tuple(sorted(_TORCH, key=lambda t: list(ELEMENT_TYPES).index(t.name)))

Types = tuple[DType, ...]
"""Of the results of a call, or of a call's groups of arguments."""

_UNIFORM: Final = {"convolution": ("input", "weight", "bias")}
"""Arguments beside the promoted ones that have one type at the edge level, though a kernel of torch's does not look."""

_MOST: Final = 3
"""Groups of arguments whose types are all combined; of more, each changes alone."""


def _calls() -> Iterator[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """Calls with the optional tensors that examples leave out, for the operators that have some."""
    from dev.example_calls import i

    f = torch.ones
    image, two = f(1, 2, 4, 4), f(2)
    stats = (two, two, two, two)
    yield aten.convolution.default, (image, f(3, 2, 3, 3), f(3), [1, 1], [1, 1], [1, 1], False, [0, 0], 1), {}
    yield aten.linear.default, (f(2, 3), f(4, 3), f(4)), {}
    yield aten._native_batch_norm_legit_no_training.default, (image, *stats, 0.1, 1e-5), {}
    yield aten._native_batch_norm_legit.no_stats, (image, two, two, True, 0.1, 1e-5), {}
    yield aten.native_layer_norm.default, (f(2, 3), [3], f(3), f(3), 1e-5), {}
    yield aten.native_group_norm.default, (image, two, two, 1, 2, 16, 1, 1e-5), {}
    yield aten.clamp.Tensor, (f(2, 3), f(2, 3), f(2, 3)), {}
    bag = (f(10, 4), i(6), torch.tensor([0, 3]), False, 0, False, f(6))
    yield aten._embedding_bag.default, bag, {}
    yield aten._embedding_bag_forward_only.default, bag, {}
    yield aten.bincount.default, (i(4), f(4)), {}
    yield aten.searchsorted.Tensor, (f(4), f(2, 3)), {"sorter": torch.arange(4)}
    yield aten.searchsorted.Scalar, (f(4), 0.5), {"sorter": torch.arange(4)}
    yield aten.histogram.bin_ct, (f(6), 4), {"weight": f(6)}
    yield aten.histogram.bins_tensor, (f(6), torch.tensor([0.0, 0.5, 1.0])), {"weight": f(6)}
    yield aten.view_copy.dtype, (f(2, 8), torch.int32), {}
    yield aten.index.Tensor, (f(4, 3), [i(2)]), {}
    yield aten.index_put.default, (f(4, 3), [i(4)], f(3)), {}


@cache
def _written() -> Mapping[str, tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    from dev.examples import written_calls

    found = {call.name: (call.target, call.args, call.kwargs) for call in written_calls()}
    for target, args, kwargs in _calls():
        found[RecordedCall(target, args, kwargs, ()).name] = (target, args, kwargs)
    return found


def _given(name: str) -> tuple[Any, dict[str, Any]] | None:
    """An operator and its arguments by name, as torch takes them; none for operators that are not torch's own."""
    from dev.examples import UNSAFE, invented_calls

    found = _written().get(name)
    if found is None and "dim_order" not in name and not UNSAFE.match(name):
        call = next(iter(invented_calls(name)), None) or _example(name)
        found = None if call is None else (call.target, call.args, call.kwargs)
    if found is None:
        return None
    target, args, kwargs = found
    names = (arg.name for arg in OP_BY_NAME[name].schema().args)
    return target, dict(zip(names, args, strict=False)) | kwargs


@cache
def _sampled() -> Mapping[str, RecordedCall]:
    from dev.examples import sampled_calls

    found: dict[str, RecordedCall] = {}
    for call in sampled_calls():
        found.setdefault(call.name, call)
    return found


def _example(name: str) -> RecordedCall | None:
    return _sampled().get(name)


def _cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A tensor in another type, without zeros that it did not have."""
    if tensor.is_floating_point() and not dtype.is_floating_point and not dtype.is_complex:
        tensor = tensor.ceil()
    return tensor.to(dtype)


def _converted(value: Any, dtype: torch.dtype) -> Any:
    """The value of an argument in another type: a tensor, a list of tensors, or none in the place of one."""
    if isinstance(value, list | tuple):
        return [_converted(item, dtype) for item in cast("Sequence[Any]", value)]
    return None if value is None else _cast(value, dtype)


class Probe:
    """Calls of one operator in all element types."""

    def __init__(self, name: str, target: Any, values: Mapping[str, Any]):
        self.target = target
        self.values = values
        self.schema = OP_BY_NAME[name].schema()
        self.args = [arg.name for arg in self.schema.args if arg.type.is_tensor and self._tensors(arg.name)]
        self.base = {arg: _DTYPE[self._tensors(arg)[0].dtype] for arg in self.args}
        self._known: dict[Types, Types | None] = {}
        promotion = OPERATORS[name].facts.promotion
        uniform = _UNIFORM.get(name, ()) if promotion is None else promotion.args
        promoted = tuple(arg for arg in self.args if arg in uniform)
        rest = [(arg,) for arg in self.args if arg not in promoted]
        self.groups = self._merged([promoted, *rest] if promoted else rest)

    def _tensors(self, arg: str) -> list[torch.Tensor]:
        value = self.values.get(arg)
        items: list[Any] = list(cast("Sequence[Any]", value)) if isinstance(value, list | tuple) else [value]
        return [item for item in items if isinstance(item, torch.Tensor)]

    def run(self, changes: Mapping[str, DType]) -> Types | None:
        """The element types of the results with other types for some arguments, none if torch refuses."""
        types = {**self.base, **changes}
        key = tuple(types[arg] for arg in self.args)
        if key not in self._known:
            self._known[key] = self._run(types)
        return self._known[key]

    def call(self, changes: Mapping[str, DType]) -> RecordedCall:
        """The call with other element types for some arguments. Raises what torch raises."""
        values = dict(self.values)
        for arg, dtype in {**self.base, **changes}.items():
            value = values[arg]
            values[arg] = _converted(value, _TORCH[dtype])
        torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]  (its argument is not annotated)
        leading = [arg.name for arg in self.schema.args if not arg.kwarg_only]
        positional: list[Any] = []
        while leading and leading[0] in values:
            positional.append(values.pop(leading.pop(0)))
        with torch.no_grad(), torch.backends.mkldnn.flags(enabled=False):
            result: Any = self.target(*positional, **values)
        return RecordedCall(self.target, tuple(positional), values, results_of(result))

    def _run(self, types: Mapping[str, DType]) -> Types | None:
        try:
            call = self.call(types)
        except Exception:
            # What torch says of types that it does not take differs from operator to operator.
            return None
        results = [r for r in call.results if isinstance(r, torch.Tensor)]
        # Of the other types that torch has there is none in programs.
        return tuple(_DTYPE[r.dtype] for r in results) if all(r.dtype in _DTYPE for r in results) else None

    def _merged(self, groups: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
        """The groups, those that torch takes in a new type only together as one."""
        merged: list[tuple[str, ...]] = []
        left = list(groups)
        while left:
            together = self._together(left[0], left[1:])
            merged.append(tuple(arg for arg in self.args if any(arg in group for group in together)))
            left = [group for group in left if group not in together]
        return merged

    def _together(
        self, group: tuple[str, ...], others: Sequence[tuple[str, ...]]
    ) -> tuple[tuple[str, ...], ...]:
        for size in range(len(others) + 1):
            for more in combinations(others, size):
                chosen = (group, *more)
                for dtype in _TYPES:
                    changed = {arg: dtype for one in chosen for arg in one}
                    if any(self.base[one[0]] is dtype for one in chosen):
                        continue
                    if self.run(changed) is not None:
                        return chosen
        return (group,)

    def combined(self) -> Iterator[tuple[Types, Types]]:
        """The types of the groups, and what torch gives of them."""
        choices: Iterable[Types] = product(_TYPES, repeat=len(self.groups))
        if len(self.groups) > _MOST:
            alone = [
                [t for t in _TYPES if self.run(dict.fromkeys(group, t)) is not None] for group in self.groups
            ]
            choices = product(*alone)
        for types in choices:
            changes = {arg: t for group, t in zip(self.groups, types, strict=True) for arg in group}
            results = self.run(changes)
            if results is not None:
                yield types, results


def probe_of(name: str) -> Probe | None:
    """The probe of an edge operator, none if it takes no tensors or is not torch's."""
    given = _given(name)
    probe = None if given is None else Probe(name, *given)
    return probe if probe is not None and probe.args else None


# -- what results are


def _rules(groups: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, Callable[[Types], DType]]]:
    """Names of result types as functions of those of the groups."""
    for at, group in enumerate(groups):
        yield group[0], lambda types, at=at: types[at]
    for at, group in enumerate(groups):
        yield f"float({group[0]})", lambda types, at=at: as_float(types[at])
        yield f"real({group[0]})", lambda types, at=at: real_of(types[at])
    for dtype in _TYPES:
        yield dtype.name.replace(" ", ""), lambda types, dtype=dtype: dtype


def _said(groups: Sequence[tuple[str, ...]], found: Sequence[tuple[Types, Types]]) -> dict[Types, str]:
    """For each combination what its results are, in as few ways of saying so as possible."""
    said: dict[Types, str] = {}
    for place in range(len(found[0][1])):
        left = dict(found)
        while left:
            best = max(
                _rules(groups),
                key=lambda rule: sum(rule[1](t) is results[place] for t, results in left.items()),
            )
            name, rule = best
            fitting = [types for types, results in left.items() if rule(types) is results[place]]
            if not fitting:
                name, fitting = "?", list(left)
            for types in fitting:
                said[types] = f"{said[types]}, {name}" if types in said else name
                del left[types]
    return said


def _boxes(combined: Iterable[Types]) -> list[tuple[frozenset[DType], ...]]:
    """Combinations as products of sets, one for each group."""
    table = list(combined)
    if not table:
        return []
    if len(table[0]) == 0:
        return [()]
    tails: defaultdict[DType, list[Types]] = defaultdict(list)
    for first, *rest in table:
        tails[first].append(tuple(rest))
    heads: defaultdict[tuple[tuple[frozenset[DType], ...], ...], list[DType]] = defaultdict(list)
    for first, rest in tails.items():
        heads[tuple(_boxes(rest))].append(first)
    return [(frozenset(firsts), *box) for boxes, firsts in heads.items() for box in boxes]


def _class_name(types: frozenset[DType]) -> str:
    names = " ".join(t.name for t in _TYPES if t in types)
    ways = [names] if len(types) < 3 else []
    for name, members in CLASSES.items():
        if members == types:
            return name
        if types < members and len(members - types) <= 2:
            ways.append(f"{name} but {' '.join(t.name for t in _TYPES if t in members - types)}")
    return min([*ways, names], key=len)


def rows_of(name: str) -> Iterator[str]:
    """The rows of one operator, none if it takes no tensors or torch does not take it."""
    if name in QUANTIZED_ROWS:
        yield f"{name} | {QUANTIZED_ROWS[name]}"
        return
    probe = probe_of(name)
    if probe is None:
        return
    found = list(probe.combined())
    if not found:
        return
    said = _said(probe.groups, found)
    if any(arg.type.base in ("ScalarType", "Scalar") or arg.name == "out_int32" for arg in probe.schema.args):
        said = dict.fromkeys(said, "?" if found[0][1] else "")
    by_result: defaultdict[str, list[Types]] = defaultdict(list)
    for types, _ in found:
        by_result[said.get(types, "")].append(types)
    for results, combined in by_result.items():
        for box in _boxes(combined):
            columns = [
                f"{', '.join(group)}: {_class_name(types)}"
                for group, types in zip(probe.groups, box, strict=True)
            ]
            yield " | ".join([name, *columns, f"-> {results}".rstrip()])


def header() -> str:
    """The lines above the rows."""
    return (
        "# Element types of edge operators, as torch's own kernels take and give them on every CPU: with oneDNN off.\n"
        "# A row holds arguments that have one type between them, a column each, and what the results are: the type\n"
        "# of an argument, made real or, if an integer, float, a fixed type, or ? where a literal decides. An\n"
        "# operator takes what one of its rows takes.\n"
        f"# Generated by `{COMMAND}`; do not edit.\n"
    )


def probed(names: Iterable[str]) -> str:
    """The rows of operators, as the table has them."""
    with warnings.catch_warnings(action="ignore"):
        return "".join(f"{row}\n" for name in sorted(names) for row in rows_of(name))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args()
    text = header() + probed(OP_BY_NAME)
    if not options.check:
        TABLE.write_text(text, encoding="utf-8")
        return 0
    if TABLE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{Path(TABLE).name} is not current: {COMMAND}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
