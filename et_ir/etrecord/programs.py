"""Serialization of aten and edge methods to ETRecord programs, in ExecuTorch's JSON.

Symbols become parameters, buffers and constants that are inputs of the graph, as in an exported program; each op
becomes a node with the Python stack, the modules and the debug handle of its location.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Final, cast

from xdsl.dialects.builtin import LocationAttr, StringAttr, TensorType, i1, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from et_ir.diagnostics import diagnose
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.program import (
    BufferOp,
    ComputeOp,
    GetOp,
    GlobalOp,
    LiteralOp,
    LoadOp,
    OverwriteOp,
    ParameterOp,
    RangeOp,
    StoreOp,
)
from et_ir.dialects.program.trees import IN_SPEC, OUT_SPEC, TreeAttr
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import element_type_name, literal_of
from et_ir.dialects.schema.sizes import method_ranges
from et_ir.dialects.schema.tensors import is_tensor, sizes_of
from et_ir.evaluation.evaluator import constant_tensor
from et_ir.locations import frames_of, module_path, node_name, parts_of
from et_ops.schema import Arg, ArgType
from et_schema.diagnostics import Report
from et_schema.etrecord import RecordedProgram

__all__ = ["NotRecordable", "recorded_program"]

EDGE_OPERATORS: Final = "executorch.exir.dialects.edge.ops"
ATEN_OPERATORS: Final = "torch.ops"
_DTYPES: Final = {
    "ui8": 1, "i8": 2, "i16": 3, "i32": 4, "i64": 5, "f16": 6, "f32": 7, "f64": 8, "complex<f16>": 9,
    "complex<f32>": 10, "complex<f64>": 11, "i1": 12, "bf16": 13,
}  # fmt: skip
"""The numbers of element types in the JSON."""
_FORMATS: Final = {"contiguous_format": 1, "channels_last": 2, "channels_last_3d": 3, "preserve_format": 4}
_LAYOUTS: Final = {"sparse_coo": 1, "strided": 7}
_LARGEST: Final = 2**31 - 1
_SIZE_FUNCTIONS: Final = {
    "add": "_operator.add", "sub": "_operator.sub", "mul": "_operator.mul", "floordiv": "_operator.floordiv",
    "max": "torch.sym_max", "min": "torch.sym_min", "eq": "_operator.eq", "lt": "_operator.lt",
    "le": "_operator.le", "gt": "_operator.gt", "ge": "_operator.ge", "not": "torch.sym_not",
}  # fmt: skip
"""Functions of numbers known at run time only, as the JSON names them."""


class NotRecordable(Report):
    """A program that the ETRecord format cannot represent."""


@dataclass
class _Graph:
    inputs: list[Any] = field(default_factory=list[Any])
    outputs: list[Any] = field(default_factory=list[Any])
    nodes: list[Any] = field(default_factory=list[Any])
    tensor_values: dict[str, Any] = field(default_factory=dict[str, Any])
    sym_int_values: dict[str, Any] = field(default_factory=dict[str, Any])
    sym_bool_values: dict[str, Any] = field(default_factory=dict[str, Any])
    is_single_tensor_return: bool = False
    custom_obj_values: dict[str, Any] = field(default_factory=dict[str, Any])


def recorded_program(
    method: FuncOp,
    symbols: Mapping[str, GlobalOp],
    handles: Callable[[LocationAttr], int] | None = None,
    origin_graph: int | None = None,
) -> RecordedProgram:
    """The program of a method: of the edge dialect if it has `handles`, which gives the debug handle of a location,
    else of aten. Nodes name those of the exported graph, whose number is `origin_graph`, as their origins.

    Raises `NotRecordable` for control flow, and for inputs, outputs and numbers that the JSON cannot represent.
    """
    return _Writer(method, symbols, handles, origin_graph).program()


class _Writer:
    def __init__(
        self,
        method: FuncOp,
        symbols: Mapping[str, GlobalOp],
        handles: Callable[[LocationAttr], int] | None,
        origin_graph: int | None,
    ):
        self._method = method
        self._symbols = symbols
        self._handles = handles
        self._origin_graph = origin_graph
        self._graph = _Graph()
        self._names: dict[SSAValue, str] = {}
        self._literals: dict[SSAValue, Any] = {}
        self._taken: set[str] = set()
        self._input_specs: list[Any] = []
        self._output_specs: list[Any] = []
        self._mutations: list[tuple[Any, Any]] = []
        self._placeholders: dict[str, str] = {}
        # Upstream's reader wants a range for each symbol.
        self._ranges: dict[str, Any] = {
            name: {
                "min_val": interval.least or 0,
                "max_val": _LARGEST if interval.most is None else interval.most,
            }
            for name, interval in method_ranges(method).items()
        }
        self._of_node: dict[str, int] = {}
        """The debug handle of the nodes that come from each node of the exported graph."""

    def program(self) -> RecordedProgram:
        """The whole method."""
        block = self._method.body.block
        used = dict.fromkeys(
            op.symbol.string_value() for op in block.ops if isinstance(op, GetOp | LoadOp | StoreOp)
        )
        for name in used:
            self._state(self._symbols[name])
        for argument in block.args:
            self._input(argument)
        for op in block.ops:
            self._op(op)
        counts = len(block.args), len(self._output_specs) - len(self._mutations)
        tree: dict[str, Any] = {
            "inputs": [],
            "outputs": [],
            "in_spec": self._spec(IN_SPEC, counts[0]),
            "out_spec": self._spec(OUT_SPEC, counts[1]),
        }
        paths = {path: None for op in block.ops if (path := module_path(op.location))}
        document: dict[str, Any] = {
            "graph_module": {
                "graph": vars(self._graph),
                "signature": {"input_specs": self._input_specs, "output_specs": self._output_specs},
                "module_call_graph": [{"fqn": "", "signature": tree}, *({"fqn": path} for path in paths)],
            },
            "opset_version": {"aten": 10},
            "range_constraints": self._ranges,
            "schema_version": {"major": 5, "minor": 4},
            "dialect": "",
            "verifiers": ["TRAINING" if self._handles is None else "EDGE"],
        }
        parameters = [self._symbols[name] for name in used if self._is_state(self._symbols[name])]
        constants = [self._symbols[name] for name in used if not self._is_state(self._symbols[name])]
        return RecordedProgram(document, _tensors(parameters), _tensors(constants), b"")

    def _spec(self, name: str, count: int) -> str:
        """The pytree spec of the inputs or outputs; flat for a method that says none."""
        attribute = self._method.attributes.get(name)
        if isinstance(attribute, TreeAttr | StringAttr):
            return attribute.data
        leaves: list[dict[str, Any]] = [{"type": None, "context": None, "children_spec": []}] * count
        flat: dict[str, Any] = {"type": "builtins.tuple", "context": "null", "children_spec": leaves}
        named: dict[str, Any] = {"type": "builtins.dict", "context": "[]", "children_spec": []}
        whole: dict[str, Any] = {"type": "builtins.tuple", "context": "null", "children_spec": [flat, named]}
        return json.dumps([1, whole if name == IN_SPEC else flat])

    @staticmethod
    def _is_state(op: GlobalOp) -> bool:
        return isinstance(op, ParameterOp | BufferOp)

    # -- inputs and outputs

    def _state(self, op: GlobalOp) -> None:
        kind, letter = {"program.parameter": ("parameter", "p"), "program.buffer": ("buffer", "b")}.get(
            op.name, ("tensor_constant", "c")
        )
        name = self._placeholders[op.key] = self._fresh(f"{letter}_{op.key}")
        argument: dict[str, Any] = {"arg": {"name": name}, f"{kind}_name": op.key}
        if kind == "buffer":
            argument["persistent"] = True
        self._input_specs.append({kind: argument})
        self._graph.inputs.append({"as_tensor": {"name": name}})
        self._tensor_value(name, op.type)

    def _input(self, argument: BlockArgument) -> None:
        attributes: Mapping[str, Attribute] = {}
        if self._method.arg_attrs is not None:
            attributes = self._method.arg_attrs.data[argument.index].data
        said = attributes.get("program.name")
        name = self._fresh(said.data if isinstance(said, StringAttr) else f"arg_{argument.index}")
        self._names[argument] = name
        if is_tensor(argument.type):
            self._tensor_value(name, argument.type)
            self._user_input({"as_tensor": {"name": name}})
            return
        value = attributes.get("program.value")
        if value is not None or argument.type not in (i64, i1):
            number = None if value is None else literal_of(value)
            constant = _number(number)
            self._graph.inputs.append(constant)
            self._input_specs.append({"constant_input": {"name": name, "value": constant}})
            return
        self._number_value(name, argument.type)
        kind = "as_sym_int" if argument.type == i64 else "as_sym_bool"
        self._user_input({kind: {"as_name": name}})

    def _user_input(self, argument: Any) -> None:
        self._graph.inputs.append(argument)
        self._input_specs.append({"user_input": {"arg": argument}})

    def _return(self, op: ReturnOp) -> None:
        for argument, spec in self._mutations:
            self._graph.outputs.append(argument)
            self._output_specs.append(spec)
        for value in op.operands:
            argument = self._value(value, op)
            (kind,) = argument
            if kind not in ("as_tensor", "as_sym_int", "as_sym_bool", "as_int", "as_none"):
                raise self._failed(
                    op, "returns a float, a bool or a string, which an ETRecord cannot represent"
                )
            self._graph.outputs.append(argument)
            self._output_specs.append({"user_output": {"arg": argument}})

    # -- ops

    def _op(self, op: Operation) -> None:
        match op:
            case SchemaOp():
                self._call(op)
            case GetOp() | LoadOp():
                self._names[op.result] = self._placeholders[op.symbol.string_value()]
            case LiteralOp():
                self._literals[op.result] = literal_of(op.value)
            case StoreOp():
                name = op.symbol.string_value()
                argument = self._value(op.value, op)
                spec = {"buffer_mutation": {"arg": argument["as_tensor"], "buffer_name": name}}
                self._mutations.append((argument, spec))
            case OverwriteOp():
                argument = self._value(op.value, op)
                target = self._names[op.target]
                spec = {"user_input_mutation": {"arg": argument["as_tensor"], "user_input_name": target}}
                self._mutations.append((argument, spec))
            case ComputeOp():
                self._compute(op)
            case RangeOp():
                pass  # says what is so, computes nothing
            case ReturnOp():
                self._return(op)
            case _:
                raise self._failed(op, "cannot be represented in an ETRecord")

    def _call(self, op: SchemaOp) -> None:
        schema = op.schema()
        namespace = op.name.partition(".")[2].removesuffix(schema.qualified_name).rstrip(".") or "aten"
        path = f"{namespace}.{schema.name}.{schema.overload or 'default'}"
        inputs = [
            {"name": arg.name, "arg": encoded}
            for arg in schema.args
            if (encoded := self._argument(op, arg)) is not None
        ]
        name, names = self._results(op, path)
        self._names |= zip(op.results, names, strict=True)
        results = [self._defined(self._names[result], result.type, op) for result in op.results]
        if op.info().variadic_results:
            results = [{"as_tensors": [one["as_tensor"] for one in results]}]
        is_edge = self._handles is not None
        self._graph.nodes.append(
            {
                "name": name,
                "target": f"{EDGE_OPERATORS if is_edge else ATEN_OPERATORS}.{path}",
                "inputs": inputs,
                "outputs": results,
                "metadata": self._metadata(op),
            }
        )

    def _results(self, op: SchemaOp, path: str) -> tuple[str, list[str]]:
        """Names for the node and its results: in aten of the exported node, in edge of the operator, as upstream's."""
        base = path.replace(".", "_").lower() if self._handles is not None else node_name(op.location)
        base = base or path.split(".")[1]
        if len(op.results) == 1 and not op.info().variadic_results:
            name = self._fresh(base)
            return name, [name]
        return self._fresh(base), [self._fresh(f"{base}_getitem_{index}") for index in range(len(op.results))]

    def _compute(self, op: ComputeOp) -> None:
        function = op.function.data
        operands = [self._value(value, op) for value in op.inputs]
        if function == "neg":
            function, operands = "mul", [*operands, {"as_int": -1}]
        target = _SIZE_FUNCTIONS.get(function)
        if target is None or any("as_float" in one for one in operands):
            raise self._failed(op, f"computes '{function}', which an ETRecord cannot represent")
        name = self._fresh(function)
        self._graph.nodes.append(
            {
                "name": name,
                "target": target,
                "inputs": [{"name": "", "arg": one} for one in operands],
                "outputs": [self._defined(name, op.result.type, op)],
                "metadata": self._metadata(op),
            }
        )
        self._names[op.result] = name

    def _defined(self, name: str, type: Attribute, op: Operation) -> dict[str, Any]:
        if is_tensor(type):
            self._tensor_value(name, type)
            return {"as_tensor": {"name": name}}
        if type not in (i64, i1):
            raise self._failed(op, f"returns a number of type {type}, which an ETRecord cannot represent")
        self._number_value(name, type)
        return {"as_sym_int" if type == i64 else "as_sym_bool": {"as_name": name}}

    # -- arguments

    def _argument(self, op: SchemaOp, arg: Arg) -> dict[str, Any] | None:
        """An argument in JSON; None for one that is left out, as its default says."""
        value = op.arg(arg.name)
        if value is None:
            return None if arg.kwarg_only or arg.default is None else {"as_none": []}
        if isinstance(value, SSAValue):
            return self._value(cast("SSAValue[Attribute]", value), op)
        if arg.type.is_tensor:
            items = cast("Sequence[SSAValue | None]", value)
            if not arg.type.element_optional:
                return {"as_tensors": [self._value(one, op)["as_tensor"] for one in items if one is not None]}
            optional: list[dict[str, Any]] = [
                {"as_none": []} if one is None else self._value(one, op) for one in items
            ]
            return {"as_optional_tensors": optional}
        if isinstance(value, tuple):
            return self._list(op, cast("tuple[Any, ...]", value), arg.type)
        match arg.type.base:
            case "ScalarType" if isinstance(value, Attribute):
                return {"as_scalar_type": _DTYPES[element_type_name(value)]}
            case "MemoryFormat":
                return {"as_memory_format": _FORMATS[str(value).removeprefix("torch.")]}
            case "Layout":
                return {"as_layout": _LAYOUTS[str(value).removeprefix("torch.")]}
            case "Device":
                return {"as_device": {"type": str(value).partition(":")[0], "index": None}}
            case "float":
                return {"as_float": float(value)}
            case _:
                return _number(value)

    def _list(self, op: Operation, items: tuple[Any, ...], type: ArgType) -> dict[str, Any]:
        values = [
            self._value(cast("SSAValue[Attribute]", one), op) if isinstance(one, SSAValue) else _number(one)
            for one in items
        ]
        kinds = {kind for one in values for kind in one}
        if "as_sym_int" in kinds:
            return {"as_sym_ints": [one.get("as_sym_int", one) for one in values]}
        plain = [value for one in values for value in one.values()]
        if type.base == "float" or "as_float" in kinds:
            return {"as_floats": list(map(float, plain))}
        if kinds == {"as_bool"}:
            return {"as_bools": plain}
        return {"as_ints": list(map(int, plain))}

    def _value(self, value: SSAValue, op: Operation) -> dict[str, Any]:
        if value in self._literals:
            return _number(self._literals[value])
        name = self._names.get(value)
        if name is None:
            raise self._failed(op, "uses a value that an ETRecord cannot represent")
        if is_tensor(value.type):
            return {"as_tensor": {"name": name}}
        if value.type in (i64, i1):
            return {"as_sym_int" if value.type == i64 else "as_sym_bool": {"as_name": name}}
        raise self._failed(op, f"uses a number of type {value.type}, which an ETRecord cannot represent")

    # -- values and metadata

    def _fresh(self, wanted: str) -> str:
        base = re.sub(r"\W", "_", wanted)
        base = f"_{base}" if not base or base[0].isdigit() else base
        name, number = base, 0
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name

    def _tensor_value(self, name: str, type: TensorType[Attribute]) -> None:
        sizes = [
            {"as_int": size} if isinstance(size, int) else self._expression(name, dim, size)
            for dim, size in enumerate(sizes_of(type))
        ]
        strides: list[Any] = [{"as_int": 1}] * len(sizes)
        step = 1
        for dim in reversed(dim_order_of(type)):
            strides[dim] = {"as_int": step}
            size = sizes[dim].get("as_int")
            step *= max(size, 1) if isinstance(size, int) else 1
        self._graph.tensor_values[name] = {
            "dtype": _DTYPES[element_type_name(type.element_type)],
            "sizes": sizes,
            "requires_grad": False,
            "device": {"type": "cpu", "index": None},
            "strides": strides,
            "storage_offset": {"as_int": 0},
            "layout": _LAYOUTS["strided"],
        }

    def _expression(self, name: str, dim: int, size: Any) -> dict[str, Any]:
        """A size known at run time only: a symbol of the method, or one of its own for a longer expression."""
        text = str(size)
        if text not in self._ranges:
            text = f"n_{name}_{dim}"
            self._ranges[text] = {"min_val": 0, "max_val": _LARGEST}
        return {"as_expr": {"expr_str": text, "hint": None}}

    def _number_value(self, name: str, type: Attribute) -> None:
        values = self._graph.sym_int_values if type == i64 else self._graph.sym_bool_values
        self._ranges[f"n_{name}"] = {"min_val": 0, "max_val": _LARGEST}
        text = f"n_{name}" if type == i64 else f"Eq(n_{name}, 1)"
        values[name] = {"as_expr": {"expr_str": text, "hint": None}}

    def _metadata(self, op: Operation) -> dict[str, str]:
        location = op.location
        found: dict[str, str] = {}
        frames = frames_of(location)
        if frames:
            found["stack_trace"] = "\n".join(
                f'  File "{one.filename}", line {one.lineno}, in {one.name}\n    {one.context}'.rstrip()
                for one in frames
            ).strip()
        path = module_path(location)
        parts = path.split(".") if path else []
        prefixes = ["", *(".".join(parts[: count + 1]) for count in range(len(parts)))]
        found["nn_module_stack"] = ";".join(f"L__self__{one},{one},torch.nn.Module" for one in prefixes)
        if self._handles is None:
            return found
        handle = self._handles(location)
        found["debug_handle"] = str(handle)
        if self._origin_graph is not None:
            sources: list[dict[str, Any]] = []
            for node in filter(None, map(node_name, parts_of(location))):
                # Upstream's tools take nodes of one origin to have one handle.
                if self._of_node.setdefault(node, handle) == handle:
                    source = {"name": node, "target": "", "graph_id": self._origin_graph}
                    sources = [{**source, "pass_name": "", "action": "create", "from_node": sources}]
            if sources:
                found["from_node"] = json.dumps(sources)
        return found

    def _failed(self, op: Operation, message: str) -> NotRecordable:
        return NotRecordable("the program cannot be represented in an ETRecord", [diagnose(op, message)])


def _number(value: Any) -> dict[str, Any]:
    if value is None:
        return {"as_none": []}
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": value}
    if isinstance(value, float):
        return {"as_float": value}
    return {"as_string": str(value)}


def _tensors(symbols: Iterable[GlobalOp]) -> Callable[[IO[bytes]], object]:
    """A function that writes the tensors of symbols by name."""
    ops = list(symbols)

    def write(stream: IO[bytes]) -> None:
        import torch

        tensors = {op.key: constant_tensor(op) for op in ops}
        torch.save(
            {
                op.key: torch.nn.Parameter(tensors[op.key], requires_grad=False)
                if isinstance(op, ParameterOp)
                else tensors[op.key]
                for op in ops
            },
            stream,
        )

    return write
