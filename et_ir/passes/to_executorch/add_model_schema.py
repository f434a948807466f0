"""Add a constant method that describes inputs and outputs.

```mlir
func.func @forward(%x: tensor<?x4xf32, #program.sizes<s0>>) -> tensor<?x4xf32, #program.sizes<2*s0>>          // before

func.func @get_model_schema() -> !program.string {                                                        // added
  %0 = program.literal "{\\"forward\\": {\\"inputs\\": [{\\"kind\\": \\"Tensor\\", \\"dtype\\": \\"float32\\", …
  func.return %0 : !program.string
}
```

The text is JSON in the format of react-native-executorch: by method `inputs`, `outputs` and `runtimeConstraints`. A
tensor has a `dtype` and a `shape`, whose sizes are a `constant` or a `range` with `min`, `max` and `step`; any other
value has the name of its kind in files, such as `Int`. A constraint is an `equality` of `dims`, or `linear`:
`dimLhs` is `coefficients[0]` times `dimRhs` plus `coefficients[1]`. A size is named by its side, the number of its
tensor among the tensors of that side, and its dimension.

A range is what the size takes, from 1 on, where the guards of the method hold that are about this one size. Constant
methods are left out: what files say of them is all there is to say.

| label | rule |
|---|---|
| `schema_c1` | element types have a name in the format: bool, uint8, int32, int64 and float32 |
| `schema_c2` | sizes are not 0, and bounded |
| `schema_c3` | no method is named `get_model_schema` yet |
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from et_ir.analysis.constant_methods import is_constant_method
from et_ir.diagnostics import Diagnostic, PassReport, diagnose
from et_ir.dialects.program.guards import GUARDS, GuardsAttr
from et_ir.dialects.schema.sizes import method_ranges
from et_ir.dialects.schema.tensors import is_tensor, sizes_of
from et_ir.passes.common.literal_method import literal_method
from et_ops.intervals import Interval
from et_ops.sizes import Expression
from et_schema.guards import Condition
from et_schema.wording import worded

__all__ = ["AddModelSchemaPass"]

NAME: Final = "get_model_schema"
DTYPES: Final = {"i1": "bool", "ui8": "uint8", "i32": "int32", "i64": "int64", "f32": "float32"}
KINDS: Final = {"i64": "Int", "f64": "Double", "i1": "Bool", "none": "None", "!program.string": "String"}
LONGEST_SEARCH: Final = 100_000
"""Maximum number of sizes that are tried on guards."""


@dataclass(frozen=True)
class _Dimension:
    """A size of a tensor that is known at run time only."""

    side: str
    tensor: int
    dim: int
    size: Expression

    @property
    def reference(self) -> dict[str, Any]:
        return {"paramSide": self.side, "tensorIdx": self.tensor, "dimIdx": self.dim}


class _Method:
    """The description of one method."""

    def __init__(self, method: FuncOp):
        self._method = method
        self.findings: list[Diagnostic] = []
        self._inputs = list(method.body.block.args)
        guards = method.attributes.get(GUARDS)
        names, conditions = (), ()
        if isinstance(guards, GuardsAttr):
            names, conditions = guards.data.checked()
        self._ranges = _narrowed(dict(method_ranges(method)), self._inputs, names, conditions)

    def describe(self) -> dict[str, Any]:
        end = self._method.body.block.last_op
        assert isinstance(end, ReturnOp)
        sides = {"input": self._inputs, "output": list(end.operands)}
        dimensions = [one for side, values in sides.items() for one in _dimensions(side, values)]
        return {
            "inputs": [self._value("input", index, value) for index, value in enumerate(sides["input"])],
            "outputs": [self._value("output", index, value) for index, value in enumerate(sides["output"])],
            "runtimeConstraints": [*_equalities(dimensions), *_lines(dimensions)],
        }

    def _value(self, side: str, index: int, value: SSAValue) -> dict[str, Any]:
        type = value.type
        if not is_tensor(type):
            return {"kind": self._named(KINDS, type, side, index)}
        shape = [
            self._size(size, f"{side} {index}, dimension {dim}") for dim, size in enumerate(sizes_of(type))
        ]
        return {
            "kind": "Tensor",
            "dtype": self._named(DTYPES, type.element_type, side, index),
            "shape": shape,
        }

    def _named(self, names: Mapping[str, str], type: Attribute, side: str, index: int) -> str:
        name = names.get(str(type))
        if name is None:
            self._refuse(
                f"[schema_c1] {side} {index} has type {type}, which the format has no name for",
                f"convert it inside of the model; the format has {', '.join(DTYPES.values())}",
            )
        return name or ""

    def _size(self, size: int | Expression | None, where: str) -> dict[str, Any]:
        if isinstance(size, int):
            if size == 0:
                self._refuse(
                    f"[schema_c2] {where} is 0, which the format cannot say", "leave the empty tensor out"
                )
            return {"kind": "constant", "value": size}
        interval = Interval() if size is None else size.interval(self._ranges)
        if interval.most is None:
            self._refuse(
                f"[schema_c2] {where} has no upper bound",
                'export with dynamic_shapes and Dim("n", max=N), or give '
                + worded(python="EdgeCompileConfig(default_bounds=…)", command="--default-bound"),
            )
        line = None if size is None else _line(size)
        step = 1 if line is None else abs(line[1])
        least = interval.least or 0
        least += max(0, -((least - 1) // step)) * step  # the format has sizes from 1 on
        return {"kind": "range", "range": {"min": least, "max": interval.most, "step": step}}

    def _refuse(self, message: str, fix: str) -> None:
        subject = f"method '{self._method.sym_name.data}'"
        self.findings.append(diagnose(self._method, message, fix, subject=subject))


def _line(size: Expression) -> tuple[str, int, int] | None:
    """The symbol, factor and summand of a size that is linear in one symbol."""
    symbol = next(iter(size.symbols), "")
    factors = dict(size.terms)
    if len(size.symbols) != 1 or not set(factors) <= {(symbol,), ()} or (symbol,) not in factors:
        return None
    return symbol, factors[(symbol,)], factors.get((), 0)


def _dimensions(side: str, values: Sequence[SSAValue]) -> Iterator[_Dimension]:
    tensors = [value.type for value in values if is_tensor(value.type)]
    for index, type in enumerate(tensors):
        for dim, size in enumerate(sizes_of(type)):
            if isinstance(size, Expression):
                yield _Dimension(side, index, dim, size)


def _equalities(dimensions: Sequence[_Dimension]) -> Iterator[dict[str, Any]]:
    """The groups of equal sizes."""
    for size in dict.fromkeys(one.size for one in dimensions):
        equal = [one for one in dimensions if one.size == size]
        if len(equal) > 1:
            yield {"kind": "equality", "dims": [one.reference for one in equal]}


def _lines(dimensions: Sequence[_Dimension]) -> Iterator[dict[str, Any]]:
    """Sizes that are linear in the one with the smallest factor, of those with one symbol."""
    by_symbol: dict[str, list[tuple[int, int, _Dimension]]] = {}
    for size in dict.fromkeys(one.size for one in dimensions):
        line = _line(size)
        if line is not None and line[1] > 0:
            first = next(one for one in dimensions if one.size == size)
            by_symbol.setdefault(line[0], []).append((line[1], line[2], first))
    for lines in by_symbol.values():
        (factor, summand, first), *others = sorted(lines, key=lambda line: line[0])
        for larger, other, second in others:
            if larger % factor == 0:
                times = larger // factor
                yield {
                    "kind": "linear",
                    "dimLhs": second.reference,
                    "dimRhs": first.reference,
                    "coefficients": [times, other - times * summand],
                }


def _narrowed(
    ranges: dict[str, Interval],
    inputs: Sequence[SSAValue],
    names: Sequence[str],
    conditions: Sequence[Condition],
) -> Mapping[str, Interval]:
    """The ranges of symbols, without ends at which a condition about a single size does not hold."""
    for name, value in zip(names, inputs, strict=False):
        if not is_tensor(value.type):
            continue
        for dim, size in enumerate(sizes_of(value.type)):
            about = [one for one in conditions if one.sizes == ((name, dim),)]
            line = _line(size) if isinstance(size, Expression) else None
            if line is None or not about:
                continue
            symbol, factor, summand = line
            interval = ranges.get(symbol, Interval())
            least, most = interval.least or 0, interval.most
            if most is None or most - least > LONGEST_SEARCH:
                numbers = range(least, least + LONGEST_SEARCH)
            else:
                numbers = range(least, most + 1)
            allowed = [
                number
                for number in numbers
                if all(one.holds({(name, dim): factor * number + summand}) for one in about)
            ]
            if allowed:
                ranges[symbol] = Interval(allowed[0], allowed[-1] if most == numbers[-1] else most)
    return ranges


@dataclass(frozen=True)
class AddModelSchemaPass(ModulePass):
    """Add a constant method that describes all others."""

    name = "add-model-schema"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = op.body.block
        methods = [one for one in block.ops if isinstance(one, FuncOp)]
        findings: list[Diagnostic] = []
        described: dict[str, Any] = {}
        for method in methods:
            if method.sym_name.data == NAME:
                message = f"[schema_c3] a method is named {NAME} already"
                findings.append(diagnose(method, message, "give it another name, or leave the schema out"))
            elif not is_constant_method(method):
                one = _Method(method)
                described[method.sym_name.data] = one.describe()
                findings += one.findings
        PassReport.raise_if("the methods cannot be described", findings)
        block.add_op(literal_method(NAME, json.dumps(described)))
