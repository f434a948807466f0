"""Torch's own decomposition of an operator, as an fx graph. It has Core ATen operators, and those of a last resort.

The operator is called on tensors without data while every operator that is not core is replaced by torch's
decomposition of it, and what is left is recorded. Composite operators decompose by their own kernel; others
by the tables that `torch.export` uses, and by torch's reference implementations where those have nothing. Where
torch has nothing at all, an operator may stay if the caller says so: the last resort.
"""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

import torch
from torch import _decomp
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import default_decompositions
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils import _pytree as pytree
from xdsl.dialects.builtin import TensorType, f64, i64
from xdsl.ir import Attribute, Operation, SSAValue

from et_ir.data.tensors import blob_of_tensor
from et_ir.dialects.aten import OP_BY_NAME, AtenOp
from et_ir.dialects.program import GetOp, Globals, LiteralOp
from et_ir.dialects.schema.literals import literal_of
from et_ir.dialects.schema.sizes import ranges_of
from et_ir.dialects.schema.tensors import is_as_precise, sizes_of
from et_ir.frontend.complex_numbers import lift_complex_numbers
from et_ir.frontend.custom_operators import find_out_variant, is_known_namespace
from et_ir.frontend.formulas import FORMULAS
from et_ir.frontend.library_formulas import formula_of, kept_by
from et_ir.frontend.mutation import plan_mutations
from et_ir.frontend.nodes import NodeConverter
from et_ir.frontend.run_time_sizes import Like, Numbering, SymbolicSizes, UnknownNumber, numberings
from et_ir.frontend.torch_registry import (
    COMPOSITE,
    Operator,
    as_operator,
    is_core,
    name_of,
    overload,
    schema_of,
    writes,
)
from et_ir.frontend.types import ELEMENT_OF, tensor_type
from et_ir.frontend.unsupported import Reasons
from et_ops.sizes import Expression, Ranges

__all__ = ["Refusal", "decompose_call", "derive", "refusal", "trace_decomposition"]

Decomposition = Callable[..., Any]
Table = dict[Operator, Decomposition]


# Keys of kernels that are written in terms of other operators, though autograd has formulas of its own for them.
_EXPLICIT: Final = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")

# Kernels of that kind which write into the memory of what they allocate, and must not get tensors without data.
# What they compute depends on no tensor: it is a constant.
_CONSTANT: Final = frozenset({"aten::kaiser_window"})

_NUMBERS: Final = (torch.SymInt, torch.SymFloat, torch.SymBool)
"""Results of size computations in a trace: those stay in the graph as calls of Python's operators."""


@lru_cache(maxsize=8)
def _table(preserve: frozenset[str]) -> Table:
    """Torch's tables, without what is core, preserved, or writing (which is functionalised)."""
    table: Table = {}
    tables: dict[str, dict[object, Decomposition]] = cast(Any, _decomp).global_decomposition_table
    for target, function in tables["post_autograd"].items():
        op = as_operator(target)
        if op is not None and COMPOSITE in op.py_kernels:
            table[op] = op.py_kernels[COMPOSITE]
        elif op is not None and not op.has_kernel_for_dispatch_key(COMPOSITE) and not _is_primitive(op):
            table[op] = function  # that of composite operators is their kernel
    exported = cast("Mapping[object, Decomposition]", default_decompositions())
    table |= {op: f for target, f in exported.items() if (op := as_operator(target)) is not None}
    table[torch.ops.aten._linalg_check_errors.default] = _nothing
    table[torch.ops.aten.equal.default] = _unequal
    table |= FORMULAS
    # Their kernels give the same elements with a mark, which a graph cannot show.
    table[torch.ops.aten._conj.default] = torch.ops.aten._conj_physical.default
    table[torch.ops.aten._neg_view.default] = torch.ops.aten.neg.default
    kept = {overload(name) for name in preserve & OP_BY_NAME.keys()}
    return {op: f for op, f in table.items() if not (is_core(op) or op in kept or writes(op))}


def _is_kernel(op: Operator) -> bool:
    """Whether an operator is one of another library that a runtime has a kernel for."""
    return not is_known_namespace(op) and bool(find_out_variant(op).text)


def _nothing(*_: Any, **__: Any) -> None:
    """The replacement of a check that compiled programs leave to their kernels."""


def _unequal(*_: Any) -> bool:
    """The answer to composite kernels that ask whether elements of their operands are to be refused."""
    return False


def _converted(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """As `prims.convert_element_type`, whose own form in aten writes into what it allocates."""
    return torch.ops.aten._to_copy.default(tensor, dtype=dtype)


def _is_primitive(op: Operator) -> bool:
    """Whether torch's reference for an operator is a primitive of that name, which is implemented by the operator."""
    schema = schema_of(op)
    return not schema.overload_name and schema.name.partition("::")[2] in cast(Any, torch)._prims.__all__


def _by_kernel(op: Operator) -> Decomposition | None:
    """The decomposition of an operator that no table has: its explicit composite kernel, or that of a primitive."""
    if schema_of(op).name == "prims::convert_element_type":
        return _converted
    if op.namespace == "prims":
        return cast(Any, op).impl_aten
    keys: Any = cast(Any, torch)._C.DispatchKey
    if op.has_kernel_for_dispatch_key(keys.CPU) or schema_of(op).name in _CONSTANT:
        return None  # the other kernels would only allocate the result for this one
    if any(result.alias_info is not None for result in cast(Any, schema_of(op)).returns):
        return None  # they show the memory of their operand, which a trace has none of
    for name in _EXPLICIT:
        key = getattr(keys, name)
        if op.has_kernel_for_dispatch_key(key):
            return partial(cast(Any, op)._op_dk, key)
    return None


def trace_decomposition(
    target: Operator,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    preserve: frozenset[str] = frozenset(),
    last_resort: frozenset[str] = frozenset(),
    ranges: Ranges = MappingProxyType({}),
    refusals: list[Refusal] | None = None,
) -> GraphModule | None:
    """Core ATen for a call of an operator; the graph's placeholders are the tensors in `args` and `kwargs`,
    in order. A tensor is a `Like`.

    Operators in `preserve` (`linear`, `add.Tensor`) stay, and those in `last_resort` where torch cannot decompose
    them. Sizes known at run time only are traced as symbols. Which of them are the same does not matter at first: they
    differ, unless torch refuses that. Where this is too general, they are the expressions that a `Like` has, whose
    symbols have `ranges`. Returns `None` where torch has no decomposition into these, or one for some sizes only;
    `refusals` then gets the reasons that are known.
    """
    given = (list(args), dict(kwargs))
    tensors = [leaf for leaf in pytree.tree_leaves(given) if isinstance(leaf, Like)]
    kept = last_resort - {name_of(target)}
    general: Any = pytree.tree_map_only(Like, Like.without_expressions, given)
    trials = [(general, sizes) for sizes in numberings(tensors)]
    if any(isinstance(size, Expression) for like in tensors for size in like.shape):
        trials.append((given, trials[0][1]))
    for (positional, named), sizes in trials:
        call = _TracedCall(target, positional, named, preserve, last_resort, sizes, ranges, refusals)
        module = call.traced(_table(preserve))
        if module is None and last_resort:
            # Torch's reference of an operator may call the operator; that of others then goes on for ever.
            module = call.traced(
                {op: f for op, f in _table(preserve).items() if name_of(op) not in kept}, kept
            )
        if module is not None:
            return module
    return None


class Refusal(NamedTuple):
    """Why torch's decomposition of a call cannot be used."""

    reason: str
    """What it does, as `raises RuntimeError: …`."""
    assumed: str = ""
    """What it assumes of sizes though it is not so for all in their range, as `s0 <= 7`."""


@dataclass(frozen=True)
class _TracedCall:
    """A call of an operator that is to be decomposed."""

    target: Operator
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    preserve: frozenset[str]
    last_resort: frozenset[str]
    sizes: Numbering
    ranges: Ranges
    refusals: list[Refusal] | None = None
    """Gets why the call cannot be decomposed."""

    def _function(self) -> tuple[Callable[..., Any], list[Like]]:
        """The call as a function of its tensors, and these."""
        leaves, spec = pytree.tree_flatten((list(self.args), dict(self.kwargs)))
        positions = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Like)]

        def call(*tensors: torch.Tensor) -> Any:
            filled = list(leaves)
            for position, tensor in zip(positions, tensors, strict=True):
                filled[position] = tensor.item() if isinstance(leaves[position], UnknownNumber) else tensor
            args, kwargs = pytree.tree_unflatten(filled, spec)
            # Torch's kernels in Python, which trace symbols, would come before the table.
            function = FORMULAS.get(self.target) or formula_of(self.target)
            return function(*args, **kwargs)

        return call, [leaves[i] for i in positions]

    def traced(self, table: Table, final: frozenset[str] = frozenset()) -> GraphModule | None:
        """The graph that a table of decompositions gives; adds to the table what torch's kernels give, except for
        operators that are `final`.
        """
        call, tensors = self._function()
        kept = {overload(name) for name in self.preserve & OP_BY_NAME.keys()}
        function = call
        while True:
            module = _trace(function, tensors, table, self.sizes, self.ranges, self.refusals)
            if module is None:
                return None
            calls = [node for node in module.graph.nodes if node.op == "call_function"]
            targets = {node.target for node in calls if not isinstance(node.meta.get("val"), _NUMBERS)}
            called = {as_operator(called) for called in targets - {operator.getitem}}
            if any(op is None for op in called):
                return None
            operators = cast("set[Operator]", called)
            writing = {op for op in operators if writes(op)}
            composite = {
                op for op in operators - writing if not (is_core(op) or op in kept or _is_kernel(op))
            }
            unknown = {op for op in composite if op not in table and name_of(op) not in final}
            more = {op: f for op in unknown if (f := _by_kernel(op)) is not None}
            left = composite - more.keys()
            if any(op == self.target or name_of(op) not in self.last_resort for op in left):
                if self.refusals is not None:
                    names = ", ".join(sorted(name_of(op) for op in left))
                    self.refusals.append(Refusal(f"comes down to {names}, which Core ATen does not have"))
                return None
            if more:
                table.update(more)
            elif writing and function is call:
                function = _functional(module)
            elif writing:
                return None
            else:
                lift_complex_numbers(module)
                _take_numbers(module, [isinstance(like, UnknownNumber) for like in tensors])
                return module


def _take_numbers(module: GraphModule, is_number: Sequence[bool]) -> None:
    """Make the numbers that are read from tensors placeholders themselves."""
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    for place in (node for node, number in zip(placeholders, is_number, strict=True) if number):
        for read in list(place.users):
            place.meta["val"] = read.meta["val"]
            read.replace_all_uses_with(place)
            module.graph.erase_node(read)


def _functional(module: GraphModule) -> Callable[..., Any]:
    """A graph without writes: by renaming where `plan_mutations` proves that right, else by torch."""
    plan = plan_mutations(module.graph, set())
    if plan is None:
        return torch.func.functionalize(module, remove="mutations")
    order = {node: index for index, node in enumerate(module.graph.nodes)}
    for node, functional in plan.functional.items():
        node.target = functional
        for name in plan.renamed[node]:
            for user in list(name.users) if order[name] < order[node] else ():
                if order[user] > order[node]:
                    user.replace_input_with(name, node)
    module.recompile()
    return module


@contextmanager
def _without_onednn() -> Generator[None]:
    """Recurrent networks decompose into matrix products only where oneDNN's kernels for them are not to be
    called.
    """
    # The public context manager sets more than this, and warns about hardware that is not there.
    switch: Any = cast(Any, torch)._C
    enabled = switch._get_mkldnn_enabled()
    switch._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        switch._set_mkldnn_enabled(enabled)


@contextmanager
def _without_torch_log() -> Generator[None]:
    """Without torch's own log of what its shape functions refuse: here that is an answer, not a failure."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    disabled, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = disabled


def _trace(
    function: Callable[..., Any],
    tensors: list[Like],
    table: Table,
    numbering: Numbering,
    ranges: Ranges,
    refusals: list[Refusal] | None,
) -> GraphModule | None:
    env = ShapeEnv()
    mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=env)
    # Kernels that torch has in Python take symbols, where those in C++ of the same operators take numbers.
    in_python = nullcontext() if all(like.is_static for like in tensors) else enable_python_dispatcher()
    with mode, torch.no_grad(), _without_onednn(), _without_torch_log(), in_python:
        sizes = SymbolicSizes(env, numbering, ranges)
        fakes = sizes.tensors(tensors)
        try:
            module = make_fx(function, decomposition_table=table, tracing_mode="real")(*fakes)
        except Exception as error:
            # Torch's decompositions raise what they like for arguments that no call of them has: IndexError for
            # a dimension that is not there, AssertionError; others for data-dependent operators, and for overloads
            # whose name is no name in Python (`from`). The op stays, and the level's verifier reports it.
            if refusals is not None:
                line = next(iter(str(error).strip().splitlines()), "")
                refusals.append(Refusal(f"raises {type(error).__name__}: {line}".rstrip(": ")))
            return None
    assumed = sizes.first_assumption()
    if assumed is not None:
        if refusals is not None:
            refusals.append(Refusal(f"is right where {assumed} only", assumed))
        return None  # what was traced is right for some sizes only
    module.graph.eliminate_dead_code()
    return module


# As `_derived`, for calls in graphs of torch. Keyed by operator and arguments, with a `Like` for each tensor.
_traced: Final[dict[object, GraphModule | None]] = {}


def decompose_call(target: Operator, node: Node) -> tuple[GraphModule, list[Node]] | None:
    """Operators of the dialect for a call in a graph, and the nodes that the result's placeholders stand for, in order.

    Returns `None` where torch has no decomposition, or none for these arguments.
    """
    inputs = [n for n in pytree.tree_leaves((list(node.args), dict(node.kwargs))) if isinstance(n, Node)]
    likes = {n: Like.of(value) for n in inputs if isinstance(value := n.meta.get("val"), torch.Tensor)}
    if len(likes) < len(set(inputs)):
        return None
    args, kwargs = pytree.tree_map_only(Node, likes.__getitem__, (list(node.args), dict(node.kwargs)))
    if schema_of(target).name in _CONSTANT:
        return _constant(target, args, kwargs), []
    flat, spec = pytree.tree_flatten((args, kwargs))
    leaves = cast("list[object]", flat)
    # Equal numbers of two types are two arguments, and so are the two zeros.
    key = (target, str(spec), *((type(one), repr(one) if isinstance(one, float) else one) for one in leaves))
    if key not in _traced:
        _traced[key] = trace_decomposition(target, args, kwargs, kept_by(target), frozenset(OP_BY_NAME))
    module = _traced[key]
    return None if module is None else (module, inputs)


def _constant(target: Operator, args: Sequence[Any], kwargs: Mapping[str, Any]) -> GraphModule:
    """A graph that gives what a call without tensors computes."""
    graph = Graph()
    name = schema_of(target).name.partition("::")[2]
    graph.output(graph.get_attr(name))
    return GraphModule({name: target(*args, **kwargs)}, graph)


# -- ops of the dialect

_DTYPES: Final = {element: dtype for dtype, element in ELEMENT_OF.items()}
_MEMORY_FORMATS: Final = {
    "contiguous_format": torch.contiguous_format,
    "preserve_format": torch.preserve_format,
    "channels_last": torch.channels_last,
    "channels_last_3d": torch.channels_last_3d,
}

# Tracing costs milliseconds, and models repeat their layers. Keyed by op class, literals, operand types,
# `preserve` and the last resort.
_derived: Final[dict[object, GraphModule | None]] = {}


def derive(
    op: AtenOp,
    symbols: Globals,
    preserve: frozenset[str] = frozenset(),
    last_resort: frozenset[str] = frozenset(),
) -> tuple[list[Operation], list[SSAValue]] | None:
    """Ops of Core ATen, and of `last_resort` where torch has no decomposition, that compute what an op does, and the
    values that take the place of its results.

    The new ops have the location of `op` and are not in a block yet; constants that a decomposition needs are
    added to the module's symbols. Returns `None` where torch has no decomposition, or none for these
    operands.
    """
    tensors = op.operands[: len(op.operands) - len(op.symbols)]
    operands = [*map(_operand, tensors), *map(_number, op.symbols)]
    if any(operand is None for operand in operands):
        return None
    ranges = ranges_of(op)
    known = frozenset((name, ranges[name]) for name in _symbols(tensors) if name in ranges)
    key = (type(op), frozenset(op.properties.items()), tuple(operands), known, preserve, last_resort)
    if key not in _derived:
        args, kwargs = _call_of(op)
        _derived[key] = trace_decomposition(overload(op.name), args, kwargs, preserve, last_resort, ranges)
    module = _derived[key]
    if module is None:
        return None
    return _inline(op, module, symbols)


def refusal(
    op: AtenOp, preserve: frozenset[str] = frozenset(), last_resort: frozenset[str] = frozenset()
) -> Refusal | None:
    """Why torch's decomposition of an op cannot be used: what it assumes of sizes, if it is that in the end; `None` if
    it can.
    """
    found: list[Refusal] = []
    args, kwargs = _call_of(op)
    known = (overload(op.name), args, kwargs, preserve, last_resort, ranges_of(op), found)
    return found[-1] if trace_decomposition(*known) is None and found else None


def _operand(value: SSAValue) -> Attribute | None:
    """The trace key of an operand: the type of a tensor, the value of a number; `None` if it cannot be traced."""
    if isinstance(value.owner, LiteralOp):
        return value.owner.value
    if not isinstance(value.type, TensorType):
        return None
    type = cast("TensorType[Attribute]", value.type)
    return type if type.element_type in _DTYPES else None


def _symbols(values: Sequence[SSAValue]) -> set[str]:
    """The names in the sizes of tensors."""
    types = [
        cast("TensorType[Attribute]", value.type) for value in values if isinstance(value.type, TensorType)
    ]
    sizes = [size for type in types for size in sizes_of(type)]
    return {name for size in sizes if isinstance(size, Expression) for name in size.symbols}


def _number(value: SSAValue) -> Attribute | None:
    """The trace key of a number in the place of a literal: its value if that is known, else its type."""
    if isinstance(value.owner, LiteralOp):
        return value.owner.value
    return value.type if value.type in (i64, f64) else None


def _call_of(op: AtenOp) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of torch's operator for an op, with a `Like` for each tensor and run-time number."""

    def python(value: Any) -> Any:
        match value:
            case SSAValue():
                if isinstance(value.owner, LiteralOp):
                    return literal_of(value.owner.value)
                given = cast("SSAValue[Attribute]", value)
                if not isinstance(given.type, TensorType):
                    return UnknownNumber.number(is_float=given.type == f64)
                type = cast("TensorType[Attribute]", given.type)
                sizes = tuple(-1 if size is None else size for size in sizes_of(type))
                return Like(sizes, _DTYPES[type.element_type])
            case tuple():
                return [python(item) for item in cast("tuple[Any, ...]", value)]
            case Attribute():
                return _DTYPES[value]
            case _:
                return value

    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for arg in op.schema().args:
        value: Any = python(op.arg(arg.name))
        if arg.type.base == "MemoryFormat" and value is not None:
            value = _MEMORY_FORMATS[value]
        elif arg.type.base == "Layout" and value is not None:
            value = getattr(torch, value)
        if arg.kwarg_only:
            kwargs[arg.name] = value
        else:
            args.append(value)
    return args, kwargs


def _inline(
    op: AtenOp, module: GraphModule, symbols: Globals
) -> tuple[list[Operation], list[SSAValue]] | None:
    reasons = Reasons()
    converter = NodeConverter(reasons, lambda _: op.location)

    def constant(node: Node) -> SSAValue | None:
        if node.op != "get_attr":
            return None
        tensor = cast(torch.Tensor, getattr(module, str(node.target)))
        symbol = symbols.add_constant("traced", tensor_type(tensor), blob_of_tensor("traced", tensor))
        read = GetOp(symbol.key, symbol.type)
        converter.place(read)
        converter.values[node] = read.result
        return read.result

    converter.missing = constant
    tensors = [value for value in _in_schema_order(op) if not isinstance(value.owner, LiteralOp)]
    found = converter.convert_trace(module, tensors, ranges_of(op))
    outputs = cast("tuple[object, ...]", found if isinstance(found, tuple) else (found,))
    values = [cast("SSAValue[Attribute]", output) for output in outputs if isinstance(output, SSAValue)]
    if reasons or len(outputs) != len(values):
        return None
    if not all(is_as_precise(made.type, known.type) for made, known in zip(values, op.results, strict=True)):
        return None
    return converter.ops, values


def _in_schema_order(op: AtenOp) -> list[SSAValue]:
    """The tensors and run-time numbers of an op in the order in which a call lists them: keyword-only ones last."""
    positional: list[SSAValue] = []
    keyword: list[SSAValue] = []
    for arg in op.schema().args:
        value: Any = op.arg(arg.name)
        items = cast("tuple[object, ...]", value if isinstance(value, tuple) else (value,))
        for item in items:
            if isinstance(item, SSAValue):
                (keyword if arg.kwarg_only else positional).append(cast("SSAValue[Attribute]", item))
    return positional + keyword
