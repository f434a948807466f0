"""`torch.export.ExportedProgram` to a module of the `aten` dialect."""

from __future__ import annotations

import warnings
from collections import namedtuple
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Final, cast

import torch
from torch._export.verifier import SpecViolationError
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ConstantArgument,
    CustomObjArgument,
    InputKind,
    InputSpec,
    OutputKind,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
    TokenArgument,
)
from torch.fx import GraphModule, Node
from torch.nn import Module
from torch.utils import _pytree as pytree
from torch.utils._pytree import TreeSpec, treespec_dumps
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from et_ir.dialects.program import (
    GetOp,
    Guards,
    GuardsAttr,
    LiteralOp,
    LoadOp,
    OverwriteOp,
    StoreOp,
    declare_operators,
)
from et_ir.dialects.program.guards import GUARDS
from et_ir.dialects.program.ops import literal_attribute
from et_ir.dialects.program.roles import ROLES, Role, RolesAttr
from et_ir.dialects.program.trees import IN_SPEC, OUT_SPEC, tree_attribute
from et_ir.dialects.schema.sizes import RANGES
from et_ir.frontend.complex_numbers import with_lifted_complex_numbers
from et_ir.frontend.constant_methods import constant_method
from et_ir.frontend.constant_state import with_written_constants_as_buffers
from et_ir.frontend.custom_operators import CustomOperators
from et_ir.frontend.decomposition import decompose_call
from et_ir.frontend.default_bounds import DefaultBounds
from et_ir.frontend.export_guards import UnknownGuard, input_guards
from et_ir.frontend.exported import is_exported
from et_ir.frontend.expressions import expression_of
from et_ir.frontend.mutation import (
    Mutations,
    functionalise_by_tracing,
    is_batching,
    plan_mutations,
    writes_memory,
)
from et_ir.frontend.nodes import NodeConverter
from et_ir.frontend.ranges import Ranges, stated_ranges, with_ranges
from et_ir.frontend.sources import Frames, NodeLocations
from et_ir.frontend.state import Symbol, SymbolTable
from et_ir.frontend.types import UnsupportedType, dim_order_of, result_type
from et_ir.frontend.unsupported import Reasons

__all__ = ["import_program", "programs_by_method"]

_STATE: Final = {
    InputKind.PARAMETER: "parameter",
    InputKind.BUFFER: "buffer",
    InputKind.CONSTANT_TENSOR: "constant",
}

_WRITABLE: Final = (InputKind.BUFFER, InputKind.PARAMETER, InputKind.USER_INPUT)
"""Mutable values of a method, whose final content the next execution or the caller sees."""


@dataclass
class _Method:
    """A method to import: its program in a form without unexplained writes, and its placeholders by role."""

    name: str
    program: ExportedProgram
    mutations: Mutations
    guards: list[str]
    """Input sizes recorded by export."""
    inputs: list[tuple[Node, InputSpec]] = field(default_factory=list[tuple[Node, InputSpec]])
    symbols: dict[Node, Symbol] = field(default_factory=dict[Node, Symbol])
    """The targets of placeholders of weights and buffers; unused ones are left out."""
    by_target: dict[str, Node] = field(default_factory=dict[str, Node])
    """The same placeholders by the names that the outputs of the signature use."""


def programs_by_method(
    program: ExportedProgram | Mapping[str, ExportedProgram],
) -> Mapping[str, ExportedProgram]:
    """Exported programs by the names of their methods, a single one as `forward`. Raises `TypeError` for what is none,
    with the way to one.
    """
    programs = program if isinstance(program, Mapping) else {"forward": program}
    for name, each in programs.items():
        if not isinstance(each, ExportedProgram):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"method {name} is a {type(each).__name__}, expected an ExportedProgram{_way_to_program(each)}"
            )
    return programs


def _way_to_program(given: object) -> str:
    if isinstance(given, str | PathLike):
        return f"; load it first: torch.export.load({given!r})"
    if isinstance(given, list | tuple):
        return "; of several, a dict by the names of methods"
    if isinstance(getattr(given, "module", None), Module):  # of `quantize`
        return "; export its module: torch.export.export(quantized.module, example_args)"
    if isinstance(given, GraphModule) and not is_exported(given):
        return "; give the exported program itself, not its graph_module"
    return "; export it first: torch.export.export(module, example_args)" if callable(given) else ""


def import_program(
    program: ExportedProgram | Mapping[str, ExportedProgram],
    *,
    constant_methods: Mapping[str, Any] | None = None,
    frames: Frames = "innermost",
    preserve: Collection[str] = (),
    default_bounds: Mapping[str, int] | None = None,
) -> ModuleOp:
    """Import exported programs, one method each, into one module of the `aten` dialect.

    A single program is the method `forward`. Its arguments are the inputs, flat; each has the attribute
    `program.name`, constant ones `program.value`, and those whose example was not contiguous
    `program.dim_order`. Mutable buffers are loaded where they are first read and stored at the end, where
    inputs that the program writes to are overwritten. Weights are not copied: the module refers to the tensors'
    memory. `constant_methods` adds methods without inputs, by what they return (tensors, numbers, strings, None,
    nested as the outputs of a program). Locations keep the innermost line of user code, or with `frames="all"` the
    whole call stack. Operators of other libraries than torch's stay whole if they have out variants
    (`et_ir.frontend.custom_operators`) or are in `preserve` (`mylib::foo`); the module declares them.
    `default_bounds` are the largest values of sizes that export knows no bound of, by symbol (`s77`) or input and
    dimension (`x.0`).

    Raises `UnsupportedProgram` with everything that stands in the way, over all methods, `TypeError` for what is
    no exported program, and `ValueError` for two methods of one name, and bounds of what is no such size.
    """
    programs = programs_by_method(program)
    constants = constant_methods or {}
    for name in constants.keys() & programs.keys():
        raise ValueError(f"two methods are named {name}: a program and a constant")
    reasons = Reasons()
    state = SymbolTable(reasons)
    custom = CustomOperators(preserve)
    methods = [_prepare(name, each, state, reasons) for name, each in programs.items()]
    state.check_aliases()
    bounds = DefaultBounds(default_bounds or {})
    functions = [_import_method(method, state, reasons, frames, custom, bounds) for method in methods]
    bounds.check_used()
    functions += [constant_method(name, value, state, reasons) for name, value in constants.items()]
    globals_: list[Operation] = [symbol.op() for symbol in state.symbols.values()]
    module = ModuleOp([*globals_, *functions])
    declare_operators(module)
    reasons.check(module)
    return module


# -- before conversion


def _submodules(module: GraphModule) -> list[GraphModule]:
    return [m for m in module.modules() if isinstance(m, GraphModule)]


def _functionalise(
    name: str, program: ExportedProgram, reasons: Reasons
) -> tuple[ExportedProgram, Mutations]:
    """The program without writes, or with writes that the converter knows how to replace."""
    program = with_lifted_complex_numbers(with_written_constants_as_buffers(program))
    module = program.graph_module
    graphs = _submodules(module)
    writing = [m for m in graphs if any(writes_memory(n) for n in m.graph.nodes)]
    batched = any(is_batching(n) for m in graphs for n in m.graph.nodes)
    if not writing and not batched:
        return program, Mutations()
    if writing == [module] and not batched:
        signature = program.graph_signature
        writable = {
            spec.arg.name
            for spec in signature.input_specs
            if spec.kind in _WRITABLE and isinstance(spec.arg, TensorArgument)
        }
        nodes = {n for n in module.graph.nodes if n.op == "placeholder" and n.name in writable}
        plan = plan_mutations(module.graph, nodes)
        if plan is not None:
            return program, plan
    try:
        with warnings.catch_warnings():
            # Torch warns here of its own use of what it has deprecated.
            warnings.simplefilter("ignore", FutureWarning)
            functionalised = functionalise_by_tracing(program)
    except (
        RuntimeError,
        ValueError,
        TypeError,
        AssertionError,
        NotImplementedError,
        SpecViolationError,
    ) as error:
        message = str(error).strip().partition("\n")[0]
        reasons.add(
            f"method {name}",
            f"torch cannot functionalize it: {message}",
            "return new tensors instead of writing in place",
        )
        return program, Mutations()
    return functionalised, Mutations()


def _prepare(name: str, program: ExportedProgram, state: SymbolTable, reasons: Reasons) -> _Method:
    guards = cast("list[str]", getattr(program, "_guards_code", None) or [])
    program, mutations = _functionalise(name, program, reasons)
    signature = program.graph_signature
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    mutated = {signature.inputs_to_buffers.get(n.name) for n in mutations.stored}
    mutated |= {signature.inputs_to_parameters.get(n.name) for n in mutations.stored}
    for spec in signature.output_specs:
        match spec.kind:
            case OutputKind.BUFFER_MUTATION | OutputKind.PARAMETER_MUTATION:
                mutated.add(spec.target)
            case OutputKind.GRADIENT_TO_PARAMETER:
                mutated.add(spec.target)  # by an optimizer, between executions
            case OutputKind.USER_INPUT_MUTATION | OutputKind.USER_OUTPUT | OutputKind.LOSS_OUTPUT:
                pass
            case OutputKind.GRADIENT_TO_USER_INPUT:
                reasons.add(
                    f"output of method {name}",
                    f'it is the gradient of the input "{spec.target}", which the training contract has no place for',
                    "export with inputs that do not require gradients: x.detach()",
                )
            case _:
                reasons.add(
                    f"output of method {name}",
                    f"outputs of kind {spec.kind.name} are not supported",
                    "export for inference",
                )
    method = _Method(name, program, mutations, guards)
    for node, spec in zip(placeholders, signature.input_specs, strict=True):
        kind = _STATE.get(spec.kind)
        if spec.kind is InputKind.USER_INPUT:
            method.inputs.append((node, spec))
        elif kind is None:
            reasons.add(
                f'input "{spec.arg.name}" of method {name}',
                f"inputs of kind {spec.kind.name} are not supported",
                "keep custom objects and effect tokens out of the exported module",
            )
        elif (node.users or spec.target in mutated) and spec.target is not None:
            found = program.state_dict if spec.target in program.state_dict else program.constants
            symbol = state.declare(
                name, spec.target, kind, found.get(spec.target), mutated=spec.target in mutated
            )
            if symbol is not None:
                method.symbols[node] = symbol
                method.by_target[spec.target] = node
    return method


# -- conversion


def _import_method(
    method: _Method,
    state: SymbolTable,
    reasons: Reasons,
    frames: Frames,
    custom: CustomOperators,
    bounds: DefaultBounds,
) -> FuncOp:
    converter = NodeConverter(
        reasons,
        NodeLocations(method.program.graph_module, frames).locate,
        mutations=method.mutations,
        decompose=decompose_call,
        custom=custom,
    )
    block, attributes = _arguments(method, reasons)

    def read(node: Node) -> SSAValue | None:
        """A weight or buffer, read where it is first used."""
        symbol = method.symbols.get(node)
        if node.op == "get_attr":
            tensor: object = getattr(node.graph.owning_module, str(node.target))
            symbol = state.declare(method.name, str(node.target), "constant", tensor, mutated=False)
        if symbol is None:
            return None
        op = (LoadOp if symbol.mutable else GetOp)(symbol.name, symbol.type)
        converter.place(op)
        op.result.name_hint = _hint(symbol.name)
        converter.values[node] = op.result
        return op.result

    def stand_in(type: Attribute) -> SSAValue:
        return block.insert_arg(type, len(block.args))

    converter.missing = read
    converter.stand_in = stand_in
    arguments: dict[Node, SSAValue] = {
        node: argument
        for (node, _), argument in zip(method.inputs, block.args, strict=True)
        # Without those whose types the IR lacks.
        if isinstance(argument.type, TensorType) or not isinstance(node.meta.get("val"), torch.Tensor)
    }
    ranges = cast("dict[Any, Any]", method.program.range_constraints)  # pyright: ignore[reportUnknownMemberType] sympy
    ranges = bounds.apply([(spec.arg.name, node) for node, spec in method.inputs], ranges)
    guards = _guards(method, ranges, reasons)
    converter.ranges = ranges
    converter.translate = expression_of
    outputs = converter.convert(method.program.graph_module, dict(arguments))
    results = _results(method, converter, cast("tuple[Any, ...]", outputs), arguments, reasons)
    roles = _roles(method)
    for name in () if roles is None else roles.names("parameter"):
        node = method.by_target.get(name)
        value = None if node is None else converter.values.get(node) or read(node)
        if isinstance(value, SSAValue):
            results.append(cast("SSAValue[Attribute]", value))
    block.add_ops(with_ranges(converter.ops, method.program.graph.nodes, converter.values, ranges))
    block.add_op(ReturnOp(*results))
    function = FuncOp(
        method.name,
        ([a.type for a in block.args], [r.type for r in results]),
        Region(block),
        arg_attrs=ArrayAttr([DictionaryAttr(entry) for entry in attributes]) if attributes else None,
    )
    for key, spec in (
        (IN_SPEC, method.program.call_spec.in_spec),
        (OUT_SPEC, method.program.call_spec.out_spec),
    ):
        text = _dump_spec(spec, f"{key.partition('.')[2]} of method {method.name}", reasons)
        if text is not None:
            function.attributes[key] = tree_attribute(text)
    symbols = stated_ranges(function, method.program.graph.nodes, ranges)
    if symbols is not None:
        function.attributes[RANGES] = symbols
    if guards is not None and guards.conditions:
        function.attributes[GUARDS] = GuardsAttr(guards)
    if roles is not None and len(roles.data) == len(results):  # else something is reported
        function.attributes[ROLES] = roles
    return function


def _roles(method: _Method) -> RolesAttr | None:
    """The roles of the results of a joint graph, which ends with its parameters."""
    roles: list[Role] = []
    for spec in method.program.graph_signature.output_specs:
        match spec.kind:
            case OutputKind.USER_OUTPUT:
                roles.append(Role("output"))
            case OutputKind.LOSS_OUTPUT:
                roles.append(Role("loss"))
            case OutputKind.GRADIENT_TO_PARAMETER:
                roles.append(Role("gradient", spec.target))
            case _:
                pass
    gradients = [role.of for role in roles if role.kind == "gradient"]
    return RolesAttr((*roles, *(Role("parameter", name) for name in gradients))) if gradients else None


def _guards(method: _Method, ranges: Ranges, reasons: Reasons) -> Guards | None:
    """Guards on input sizes."""
    inputs = [(spec.arg.name, node) for node, spec in method.inputs]
    try:
        return input_guards(inputs, ranges, method.guards)
    except UnknownGuard as error:
        reasons.add(
            f"method {method.name}",
            f"its guards on input sizes cannot be represented: {error}",
            "state simpler conditions in dynamic_shapes or torch._check, or export with static shapes",
        )
        return None


def _dump_spec(spec: TreeSpec | None, subject: str, reasons: Reasons) -> str | None:
    if spec is None:
        return None
    try:
        return treespec_dumps(_plain_tuples(spec))
    except NotImplementedError as error:
        reasons.add(
            subject,
            f"its structure cannot be serialized: {error}",
            "use tuples, lists and dicts, or register the class with a serialized_type_name",
        )
        return None


def _plain_tuples(spec: TreeSpec) -> TreeSpec:
    """A structure with plain tuples in the place of tuple classes that have no name outside of Python.

    What `x.max(dim=0)` returns is such a class.
    """
    if spec.is_leaf():
        return spec
    children = [_plain_tuples(child) for child in spec.children()]
    container: Any = spec.context if spec.type is namedtuple else spec.type
    is_tuple = container is not tuple and issubclass(container, tuple)
    if is_tuple and not _has_name(cast("type[object]", container)):
        return TreeSpec(tuple, None, children)
    return TreeSpec(spec.type, spec.context, children)


def _has_name(container: type) -> bool:
    """Whether torch has a name under which it writes a container class down."""
    registered: Any = pytree.SUPPORTED_SERIALIZED_TYPES.get(container)
    return registered is not None and registered.serialized_type_name != pytree.NO_SERIALIZED_TYPE_NAME_FOUND


def _arguments(method: _Method, reasons: Reasons) -> tuple[Block, list[dict[str, Attribute]]]:
    """The entry block of a method and the attributes of its arguments."""
    types: list[Attribute] = []
    attributes: list[dict[str, Attribute]] = []
    for node, spec in method.inputs:
        subject = f'input "{spec.arg.name}" of method {method.name}'
        entry: dict[str, Attribute] = {"program.name": StringAttr(spec.arg.name)}
        try:
            match spec.arg:
                case ConstantArgument(value=value):
                    attribute, type = literal_attribute(value)
                    entry["program.value"] = attribute
                case SymIntArgument() | SymFloatArgument() | SymBoolArgument():
                    raise UnsupportedType(
                        "runtimes do not accept variable scalar inputs, only the exported value",
                        "pass a 0-d tensor and read it with .item(), or export with a constant",
                    )
                case CustomObjArgument() | TokenArgument():
                    raise UnsupportedType(
                        "custom objects are not supported", "pass tensors and Python scalars"
                    )
                case _:
                    example: Any = node.meta.get("val")
                    type = result_type(example, expression_of)
                    order = dim_order_of(example) if isinstance(example, torch.Tensor) else None
                    if order is not None:
                        entry["program.dim_order"] = DenseArrayBase.from_list(i64, order)
        except UnsupportedType as error:
            reasons.add(subject, str(error), error.fix)
            attribute, type = literal_attribute(None)
        types.append(type)
        attributes.append(entry)
    block = Block(arg_types=types)
    for argument, (_, spec) in zip(block.args, method.inputs, strict=True):
        argument.name_hint = _hint(spec.arg.name)
    return block, attributes


def _results(
    method: _Method,
    converter: NodeConverter,
    outputs: tuple[Any, ...],
    arguments: Mapping[Node, SSAValue],
    reasons: Reasons,
) -> list[SSAValue]:
    """The values a method returns. New values of buffers and inputs are written back instead."""
    inputs = {node.name: node for node in arguments}
    results: list[SSAValue] = []
    signature = method.program.graph_signature
    stores: list[tuple[Node | None, Any]] = []
    for spec, value in zip(signature.output_specs, outputs, strict=True):
        if spec.kind in (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION):
            stores.append((method.by_target.get(str(spec.target)), value))
        elif spec.kind is OutputKind.USER_INPUT_MUTATION:
            stores.append((inputs.get(str(spec.target)), value))
        elif isinstance(value, SSAValue):
            results.append(cast("SSAValue[Attribute]", value))
        elif value is None and not isinstance(spec.arg, ConstantArgument):
            # Depends on something reported already; unless nothing was, and then it is a defect.
            if not reasons:
                raise AssertionError(f"output '{spec.arg.name}' was not converted")
        elif isinstance(value, int | float | str | None):
            literal = LiteralOp(value)
            converter.ops.append(literal)
            results.append(literal.result)
    stores += [(node, converter.values.get(node)) for node in method.mutations.stored]
    for node, value in stores:
        if node is None or not isinstance(value, SSAValue):
            continue
        value = cast("SSAValue[Attribute]", value)
        symbol, argument = method.symbols.get(node), arguments.get(node)
        if symbol is not None:
            store = StoreOp(symbol.name, value)
        elif argument is not None and argument is not value:
            store = OverwriteOp(argument, value)
        else:
            continue
        if isinstance(value.owner, Operation):
            store.location = value.owner.location
        converter.ops.append(store)
    return results


def _hint(name: str) -> str | None:
    """A name that the printer accepts for a value: letters, digits and underscores, no digit at the start."""
    text = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
    return text if text and not text[0].isdigit() else f"_{text}"
