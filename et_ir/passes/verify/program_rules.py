"""Program invariants at every level above `executorch`.

They are about symbols, methods, and the dialects whose ops may stand in them.

The rules are part of the contract of each level and are checked by its `verify-<level>` pass:

| label | rule |
|---|---|
| `program_c1` | the module holds symbols: parameters, buffers, constants, methods |
| `program_c2` | an access names a symbol of the module |
| `program_c3` | an access has the symbol's type |
| `program_c4` | mutable buffers are read by `load` and written by `store`; everything else is read by `get` |
| `program_c5` | parameters and constants have data |
| `program_c6` | a method has a body of one block |
| `program_c7` | inputs and outputs of a method are tensors, numbers, strings or none |
| `program_c8` | what `overwrite` writes to is an input of the method, each at most once |
| `program_c9` | an operator that is in no registry is declared, once |
| `program_c10` | state and inputs are written by the method itself, state also by a partition in it |
| `program_c11` | guards are about the inputs of their method |
| `program_c12` | a type has as many symbolic sizes as `?`, of symbols whose ranges the method states |
| `program_c13` | a method calls no function |
| `program_c14` | roles are those of the results; the parameters are mutable buffers that the method does not write |
| `<level>_c1` | an op of a method belongs to the level's dialect, or to one that all levels share |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from typing import Final

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ModuleOp,
    NoneType,
    SymbolRefAttr,
    TensorType,
    UnregisteredOp,
    f64,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from et_ir.diagnostics import Diagnostic, diagnose
from et_ir.dialects.backend import PartitionOp
from et_ir.dialects.program import (
    BufferOp,
    DeclareOperatorOp,
    GetOp,
    GlobalOp,
    GuardsAttr,
    LoadOp,
    OverwriteOp,
    StoreOp,
    StringType,
)
from et_ir.dialects.program.guards import GUARDS
from et_ir.dialects.program.roles import ROLES, RolesAttr
from et_ir.dialects.schema.custom import is_custom
from et_ir.dialects.schema.operator import OperatorOp
from et_ir.dialects.schema.sizes import SizesAttr, method_ranges, values_of
from et_ir.dialects.schema.storage import storage_of
from et_ir.dialects.schema.tensors import is_tensor
from et_ir.passes.verify.quantization_rules import QuantizedTypes

__all__ = ["SHARED_DIALECTS", "OpRule", "ProgramRules", "dialect_of"]

SHARED_DIALECTS: Final = frozenset({"program", "control", "func", "builtin"})
"""Dialects whose ops may stand in a method at every level."""

OpRule = Callable[[Operation], Iterable[Diagnostic]]
"""The rules of a level for one op of its own dialects."""

_NUMBERS: Final = (i64, f64, i1)
_FOREIGN_FIX: Final = {
    ("aten", "edge"): "the program is past this level: use verify-edge",
    ("edge", "aten"): "it was not lowered: run the aten-to-edge pipeline",
    ("edge", "executorch"): "the program is past this level: use verify-executorch",
    ("backend", "aten"): "it was not lowered: run the aten-to-edge pipeline",
}


def dialect_of(op: Operation) -> str:
    """The dialect of an op; that of the text for an op which no loaded dialect knows."""
    name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    return name.partition(".")[0]


class ProgramRules:
    """Checks a module in program order against the rules above and those of one level."""

    def __init__(self, module: ModuleOp, level: str, dialects: Iterable[str] = ()):
        """`dialects` are those of the level beside the shared ones; the one called like the level is always
        there.
        """
        self.module = module
        self.level = level
        self.dialects = SHARED_DIALECTS | {level, *dialects}
        self.symbols = {op.key: op for op in module.body.block.ops if isinstance(op, GlobalOp)}
        self.quantized_types = QuantizedTypes(module)
        self.operators: dict[str, type[OperatorOp]] = {}
        """The operators that the module declares, by the names of their ops."""

    def check(self, rule: OpRule) -> list[Diagnostic]:
        """All findings in program order; `rule` is called for each op of the level's own dialects."""
        found: list[Diagnostic] = []
        for op in self.module.body.block.ops:
            if isinstance(op, FuncOp):
                found.extend(self._method(op))
                found.extend(self.quantized_types.findings(op))
                found.extend(_symbols(op))
                for region in op.regions:
                    for inner in region.walk():
                        self._op(inner, rule, found)
            elif isinstance(op, GlobalOp):
                found.extend(self._symbol(op))
            elif isinstance(op, DeclareOperatorOp):
                found.extend(self._operator(op))
            elif not op.has_trait(SymbolOpInterface, value_if_unregistered=False):
                message = "[program_c1] is neither a symbol nor a method"
                found.append(diagnose(op, message, "move it into a func.func"))
        return found

    def accesses(self) -> list[Diagnostic]:
        """The findings about accesses of symbols alone (`program_c2` to `program_c4`)."""
        return [finding for op in self.module.walk() for finding in self._access(op)]

    def _op(self, op: Operation, rule: OpRule, found: list[Diagnostic]) -> None:
        found.extend(self.quantized_types.findings(op))
        dialect = dialect_of(op)
        if dialect not in self.dialects:
            name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
            fix = _FOREIGN_FIX.get((self.level, dialect), f"lower or remove it before the {self.level} level")
            message = f"[{self.level}_c1] belongs to the dialect '{dialect}', not to the {self.level} level"
            found.append(diagnose(op, message, fix, subject=name))
        elif dialect == "func" and not isinstance(op, ReturnOp):
            fix = (
                "inline the function: methods are what callers of the program run, and do not call each other"
            )
            found.append(diagnose(op, "[program_c13] calls a function", fix))
        elif isinstance(op, OverwriteOp | StoreOp) and not isinstance(_writer(op), FuncOp):
            fix = "yield the new value, and write it after the branch or loop"
            found.append(diagnose(op, "[program_c10] writes in a branch or loop", fix))
        elif isinstance(op, OverwriteOp):
            found.extend(_overwrite(op))
        elif dialect == "program":
            found.extend(self._access(op))
        elif dialect not in SHARED_DIALECTS:
            if isinstance(op, OperatorOp) and is_custom(type(op)) and op.name not in self.operators:
                fix = "declare used operators with et_ir.dialects.program.declare_operators(module)"
                found.append(diagnose(op, "[program_c9] is not declared in the module", fix))
            found.extend(rule(op))

    def _operator(self, op: DeclareOperatorOp) -> Iterator[Diagnostic]:
        for made in op.classes():
            if made.name in self.operators:
                message = f"[program_c9] the operator of {made.name} is declared already"
                yield diagnose(op, message, "keep one declaration")
                return
            self.operators[made.name] = made

    def _symbol(self, op: GlobalOp) -> Iterator[Diagnostic]:
        if op.value is None and not isinstance(op, BufferOp):
            yield diagnose(
                op, f"[program_c5] @{op.key} has no data", "give its value, or make it a program.buffer"
            )

    def _method(self, op: FuncOp) -> Iterator[Diagnostic]:
        name = op.sym_name.data
        if len(op.body.blocks) != 1:
            yield diagnose(
                op,
                f"[program_c6] method @{name} has {len(op.body.blocks)} blocks, expected one",
                "use ops with regions for control flow",
            )
        guards = op.attributes.get(GUARDS)
        if guards is not None:
            yield from _guards(op, guards)
        roles = op.attributes.get(ROLES)
        if isinstance(roles, RolesAttr):
            yield from _roles(op, roles)
        for kind, types in (("input", op.function_type.inputs), ("output", op.function_type.outputs)):
            for index, type in enumerate(types):
                if not _is_value_type(type):
                    yield diagnose(
                        op,
                        f"[program_c7] {kind} {index} of method @{name} has type {type}",
                        "inputs and outputs are tensors, i64, f64, i1, !program.string or none",
                    )

    def _access(self, op: Operation) -> Iterator[Diagnostic]:
        if not isinstance(op, GetOp | LoadOp | StoreOp):
            return
        reference = op.properties["symbol"]
        name = reference.string_value() if isinstance(reference, SymbolRefAttr) else str(reference)
        symbol = self.symbols.get(name)
        if symbol is None:
            close = get_close_matches(name, self.symbols, n=1)
            fix = f"did you mean @{close[0]}?" if close else "declare it at module level"
            yield diagnose(op, f"[program_c2] no parameter, buffer or constant is named @{name}", fix)
            return
        type = op.value.type if isinstance(op, StoreOp) else op.result.type
        if not _is_access_type(type, symbol.type):
            yield diagnose(
                op,
                f"[program_c3] has type {type}, but @{name} is {symbol.type}",
                f"use the type {symbol.type}",
            )
        is_state = isinstance(symbol, BufferOp) and symbol.mutable is not None
        if isinstance(op, GetOp) and is_state:
            yield diagnose(op, f"[program_c4] @{name} is a mutable buffer", "read it with program.load")
        elif not isinstance(op, GetOp) and not is_state:
            fix = f"declare 'program.buffer mutable @{name}', or read it with program.get"
            yield diagnose(op, f"[program_c4] @{name} is not a mutable buffer", fix)


def _guards(op: FuncOp, guards: Attribute) -> Iterator[Diagnostic]:
    fix = "state them for the method's inputs, or drop program.guards"
    try:
        if not isinstance(guards, GuardsAttr):
            raise VerifyException(f"expected #program.guards, not {guards}")
        guards.verify_inputs(list(op.function_type.inputs))
    except VerifyException as error:
        yield diagnose(op, f"[program_c11] {error}", fix)


def _roles(op: FuncOp, roles: RolesAttr) -> Iterator[Diagnostic]:
    """Contradictions between the roles of results and what they are."""
    end = op.body.block.last_op if op.body.blocks else None
    results = end.operands if isinstance(end, ReturnOp) else ()
    try:
        roles.verify_results([value.type for value in results])
    except VerifyException as error:
        yield diagnose(op, f"[program_c14] {error}", "give each result its role, or drop program.roles")
        return
    written = {one.symbol.string_value() for one in op.walk() if isinstance(one, StoreOp)}
    for role, value in zip(roles.data, results, strict=True):
        source = value.owner
        if role.kind == "loss" and not _is_one_float(value.type):
            message = f"[program_c14] the loss is a {value.type}"
            yield diagnose(op, message, "return a loss of one floating-point element, such as loss.mean()")
        elif role.kind == "parameter" and not isinstance(source, LoadOp):
            message = f'[program_c14] the result for the parameter "{role.of}" is not a mutable buffer'
            yield diagnose(op, message, "return the result of program.load")
        elif (
            role.kind == "parameter"
            and isinstance(source, LoadOp)
            and source.symbol.string_value() in written
        ):
            message = (
                f'[program_c14] the parameter "{role.of}" is written by the method that computes its gradient'
            )
            yield diagnose(op, message, "write it outside of the method: an optimizer does that")


def _symbols(method: FuncOp) -> Iterator[Diagnostic]:
    """Contradictions in the symbolic sizes of a method's values, at the first op that has each."""
    ranges = method_ranges(method)
    seen: set[Attribute] = set()
    for op in method.walk():
        for type in (value.type for value in values_of(op)):
            if not is_tensor(type) or not isinstance(type.encoding, SizesAttr) or type in seen:
                continue
            seen.add(type)
            sizes = type.encoding.data.sizes
            unknown = type.get_shape().count(DYNAMIC_INDEX)
            if len(sizes) != unknown:
                message = f"[program_c12] type {type} has {len(sizes)} symbolic sizes for {unknown} '?'"
                yield diagnose(op, message, "give one expression, or '?', for each '?' of the shape")
            names = {name for size in sizes if size is not None for name in size.symbols} - ranges.keys()
            if names:
                message = f"[program_c12] type {type} has symbols without a range: {', '.join(sorted(names))}"
                stated = ", ".join(f"{name} from 0" for name in sorted(names))
                yield diagnose(
                    op, message, f"state them on the method: program.ranges = #program.ranges<{stated}>"
                )


def _overwrite(op: OverwriteOp) -> Iterator[Diagnostic]:
    target = op.target
    if not isinstance(target, BlockArgument) or not isinstance(target.block.parent_op(), FuncOp):
        yield diagnose(
            op, "[program_c8] writes to a value that is not an input of the method", "write to an input"
        )
        return
    times = sum(isinstance(use.operation, OverwriteOp) and use.index == 0 for use in target.uses)
    if times > 1:
        message = f"[program_c8] input {target.index} of the method is overwritten {times} times"
        yield diagnose(op, message, "keep only the last write")


def _writer(op: Operation) -> Operation | None:
    """The op that writes: a partition that owns a buffer writes it for the method."""
    parent = op.parent_op()
    return parent.parent_op() if isinstance(parent, PartitionOp) and isinstance(op, StoreOp) else parent


def _is_access_type(type: Attribute, symbol: Attribute) -> bool:
    """Whether an access has the type of its symbol, but for what integers stand for."""
    if type == symbol or not is_tensor(type) or not is_tensor(symbol):
        return type == symbol
    return TensorType(storage_of(type.element_type), type.get_shape(), type.encoding) == symbol


def _is_one_float(type: Attribute) -> bool:
    return is_tensor(type) and isinstance(type.element_type, AnyFloat) and set(type.get_shape()) <= {1}


def _is_value_type(type: Attribute) -> bool:
    return isinstance(type, TensorType | StringType | NoneType) or type in _NUMBERS
