"""Translation of a partition to a graph of operator calls.

Each tensor has the storage of the op that makes it. Where an op needs another storage, a `clone` converts it, once.
Constants are packed by calls of `et_vk.prepack`, unless the operator packs them. A convolution and the activation that
bounds it are one call.

With halves, floats are of 16 bits on the device, constants too; arguments are converted as 64-bit integers are.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Final, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32, i1, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from et_backends.vulkan_graph.compiler.grouped_linear import OPERATOR, GroupedLinear, grouped_linear
from et_backends.vulkan_graph.compiler.operators import CONTIGUOUS, Placement, Rule
from et_backends.vulkan_graph.compiler.storage import BUFFER, WIDTH, Storage
from et_backends.vulkan_graph.format import tables as v
from et_backends.vulkan_graph.format.blob import SCALAR_TYPES, results_of
from et_ir.analysis.activation_bounds import activation_bounds
from et_ir.analysis.bounds import SizeBounds
from et_ir.data import Blob
from et_ir.delegation.delegate_mapping import DelegateMappingBuilder
from et_ir.delegation.dependences import is_copied, is_statement
from et_ir.delegation.named_data import NamedDataStore
from et_ir.dialects.edge.ops import ConvolutionOp, HardtanhOp, LinearOp, ReluOp
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.evaluation.arrays import array_of
from et_ops.schema import Arg
from et_schema.graph_blob import CONSTANT_ALIGNMENT

__all__ = ["Translation"]

_VERSION: Final = "0"
_OWN: Final = -1
"""Memory object of a tensor that shares its memory with none; number of a constant that a variable is."""
_MOST: Final = sys.float_info.max
"""The bound that stands for none."""
_DATATYPES: Final[dict[Attribute, v.VkDataType]] = {
    f32: v.VkDataType.FLOAT32,
    i1: v.VkDataType.BOOL,
    i32: v.VkDataType.INT32,
    # 64-bit integers have 32 on the device; runtimes convert arguments.
    i64: v.VkDataType.INT32,
}
_STORED: Final = {
    "f": v.VkDataType.FLOAT32,
    "b": v.VkDataType.BOOL,
    "i": v.VkDataType.INT32,
    "u": v.VkDataType.UINT8,
}
"""Types of constants by numpy's kind."""


class Translation:
    """The graph of a module of the edge level with one method, under construction."""

    def __init__(self, module: ModuleOp, method: FuncOp, *, halves: bool = False) -> None:
        self.halves = halves
        """Whether floats have 16 bits on the device."""
        self.graph = v.VkGraph(version=_VERSION)
        self.data = NamedDataStore()
        self.mapping = DelegateMappingBuilder(generated_identifiers=True)
        self._symbols = Globals(module)
        self._method = method
        self._bounds = SizeBounds(method.body.block)
        self._values: dict[SSAValue, dict[Storage, int]] = {}
        """The tensors that a value of the program is, by storage; the first was there first."""
        self._constants: dict[tuple[str, tuple[int, ...], str], int] = {}
        self._literals: dict[tuple[type, str], int] = {}
        self._ops: tuple[SchemaOp, ...] = ()
        """The ops that the next calls compute."""

    def translate(self, rules: Mapping[str, Rule]) -> v.VkGraph:
        """The graph. Raises ValueError for an op that `rules` has no operator for."""
        block = self._method.body.block
        for argument in block.args:
            storage = WIDTH if WIDTH.holds(self._sizes(argument)) else BUFFER
            made = self._tensor(self._sizes(argument), self._datatype(argument), storage)
            self._values[argument] = {storage: made}
            self.graph.input_ids.append(made)
        layers = [found for op in block.ops if (found := grouped_linear(op, self._symbols)) is not None]
        grouped = {layer.linear: layer for layer in layers}
        fused: set[Operation] = {layer.restore for layer in layers}
        for op in block.ops:
            if is_copied(op) or is_statement(op) or isinstance(op, (GetOp, ReturnOp)) or op in fused:
                continue
            if isinstance(op, LinearOp) and op in grouped:
                self._grouped_linear(grouped[op])
                continue
            rule = rules.get(op.name.removeprefix("edge.")) if isinstance(op, SchemaOp) else None
            if rule is None or not isinstance(op, SchemaOp):
                raise ValueError(f"the Vulkan runtime has no operator {op.name}")
            activation = _fused_activation(op)
            self._ops = (op,) if activation is None else (op, activation)
            fused.update(self._ops)
            self._call_of(op, rule.lower, activation)
        end = block.last_op
        assert isinstance(end, ReturnOp)
        self.graph.output_ids = [next(iter(self._values[value].values())) for value in end.arguments]
        _share_memory(self.graph)
        return self.graph

    # -- calls

    def _call_of(self, op: SchemaOp, placement: Placement, activation: SchemaOp | None) -> None:
        storage = self._storage(op, placement)
        scalar = op.operator.overload_name.endswith(".Scalar") and "other" in op.schema().by_name
        compares = tensor_type(op.results[0]).element_type == i1
        name = op.operator.overload_name
        args: list[int] = []
        for arg in op.schema().args:
            if scalar and not compares and arg.name == "other":
                # The runtime has arithmetic of two tensors only.
                args.append(self._number(op.arg("other"), storage))
            else:
                args.append(self._argument(arg, op.arg(arg.name), storage, arg.name in placement.packs))
        if scalar and not compares:
            name = name.removesuffix("Scalar") + "Tensor"
        name = _qualified(op, name)
        last = op
        if activation is not None:
            bounds = activation_bounds(activation)
            assert bounds is not None
            name, last = "et_vk.conv_with_clamp.default", activation
            args += [self._literal(min(max(bound, -_MOST), _MOST)) for bound in bounds]
        results: list[int] = []
        for result in last.results:
            made = self._tensor(self._sizes(result), self._datatype(result), storage)
            self._values[result] = {storage: made}
            results.append(made)
        several = op.info().variadic_results or len(results) > 1
        self._call(name, args, self._list(results) if several else results[0])

    def _grouped_linear(self, layer: GroupedLinear) -> None:
        self._ops = (layer.restore, layer.linear)
        storage = self._storage(layer.linear, CONTIGUOUS)
        bias = layer.packed_bias()
        args = [
            self._operand(layer.linear.arg("input"), storage, packs=False),
            self._stored(layer.packed_weight()),
            self._stored(layer.packed_scales()),
            self._literal(layer.group),
            self._literal(None) if bias is None else self._stored(bias),
        ]
        result = layer.linear.result
        made = self._tensor(self._sizes(result), self._datatype(result), storage)
        self._values[result] = {storage: self._call(OPERATOR, args, made)}

    def _call(self, name: str, args: Sequence[int], result: int) -> int:
        number = self.mapping.insert_delegate_mapping_entry(self._ops)
        self.graph.chain.append(v.OperatorCall(cast(int, number), name, [*args, result]))
        return result

    def _storage(self, op: SchemaOp, placement: Placement) -> Storage:
        """The storage of the tensors of an op: one that holds all of them."""
        variables = [value for value in op.operands if value in self._values]
        tensors = [self._sizes(value) for value in (*variables, *op.results)]
        preferred = list(placement.storages(op))
        if not preferred:
            first = [next(iter(self._values[value])) for value in variables[:1]]
            preferred = [*first, WIDTH, BUFFER]
        found = next((one for one in preferred if all(map(one.holds, tensors))), None)
        if found is None:
            raise ValueError(f"{op.name}: a tensor does not fit the storage that the Vulkan runtime needs")
        return found

    # -- arguments

    def _argument(self, arg: Arg, value: Any, storage: Storage, packs: bool) -> int:
        if value is None or arg.type.base in ("ScalarType", "Layout", "Device", "MemoryFormat"):
            return self._literal(None)
        if arg.type.is_tensor and arg.type.is_list:
            items = [
                self._literal(None) if one is None else self._operand(one, storage, packs) for one in value
            ]
            return self._list(items)
        if arg.type.is_tensor:
            return self._operand(value, storage, packs)
        if arg.type.is_list:
            items = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
            return self._literal_list(arg.type.base, items)
        if arg.type.base == "float":
            return self._literal(float(value))
        return self._literal(value)

    def _operand(self, value: SSAValue, storage: Storage, packs: bool) -> int:
        """A tensor in a storage. One that the operator packs is a constant as it is."""
        known = self._values.setdefault(value, {})
        if storage in known and not packs:
            return known[storage]
        if not known:
            constant = self._constant(value)
            if packs:
                del self._values[value]
                return constant
            made = self._tensor(self._sizes(value), self._datatype(value), storage)
            known[storage] = self._call("et_vk.prepack.default", [constant], made)
            return made
        source = next(iter(known.values()))
        made = self._tensor(self._sizes(value), self._datatype(value), storage)
        known[storage] = self._call("aten.clone.default", [source, self._literal(None)], made)
        return made

    def _number(self, number: float, storage: Storage) -> int:
        """A number as a packed tensor without dimensions."""
        constant = self._stored(np.array(number, np.float32))
        made = self._tensor([], v.VkDataType.FLOAT32, storage)
        return self._call("et_vk.prepack.default", [constant], made)

    def _constant(self, value: SSAValue) -> int:
        """The constant that a value of the program is."""
        symbol = self._symbols.constant_of(value)
        assert symbol is not None
        assert symbol.value is not None
        array = array_of(tensor_type(value), symbol.value.blob)
        return self._stored(array.astype(np.int32) if array.dtype == np.int64 else array, symbol.value.blob)

    def _stored(self, array: np.ndarray[Any, Any], blob: Blob | None = None) -> int:
        """A constant, whose bytes are named data of the program under their hash.

        Floats beyond the range of a half become its largest.
        """
        if self.halves and array.dtype.kind == "f":
            most = np.finfo(np.float16).max
            array = np.clip(array, -most, most).astype(np.float16)
        if blob is None or blob.nbytes != array.nbytes:
            blob = Blob.of("", np.ascontiguousarray(array).tobytes())
        key = blob.sha256, array.shape, array.dtype.kind
        found = self._constants.get(key)
        if found is None:
            self.data.add_named_data(blob.sha256, blob, CONSTANT_ALIGNMENT)
            self.graph.constants.append(v.VkBytes(v.NO_OFFSET, blob.nbytes, blob.sha256))
            datatype = self._held(_STORED[array.dtype.kind])
            number = len(self.graph.constants) - 1
            found = self._constants[key] = self._value(
                v.VkTensor(datatype, list(array.shape), number, _OWN, staging_datatype=datatype)
            )
        return found

    # -- values

    def _sizes(self, value: SSAValue) -> list[int]:
        """The largest sizes of a tensor; a graph has no others, and follows those of its inputs."""
        sizes = [size for size in self._bounds.sizes(value) if size is not None]
        assert len(sizes) == len(tensor_type(value).get_shape())
        return sizes

    def _value(self, table: v.GraphTypes) -> int:
        self.graph.values.append(v.VkValue(table))
        return len(self.graph.values) - 1

    def _tensor(self, sizes: Sequence[int], datatype: v.VkDataType, storage: Storage) -> int:
        held = self._held(datatype)
        return self._value(v.VkTensor(held, list(sizes), _OWN, _OWN, storage.type, storage.layout, datatype))

    def _held(self, datatype: v.VkDataType) -> v.VkDataType:
        """The type that elements have on the device."""
        return v.VkDataType.FLOAT16 if self.halves and datatype is v.VkDataType.FLOAT32 else datatype

    def _datatype(self, value: SSAValue) -> v.VkDataType:
        assert is_tensor(value.type)
        return _DATATYPES[tensor_type(value).element_type]

    def _list(self, items: Sequence[int]) -> int:
        return self._value(v.ValueList(list(items)))

    def _literal(self, value: object) -> int:
        key = (type(value), repr(value))
        found = self._literals.get(key)
        if found is None:
            found = self._literals[key] = self._value(_literal_table(value))
        return found

    def _literal_list(self, base: str, items: Sequence[Any]) -> int:
        if base == "bool":
            return self._value(v.BoolList([bool(item) for item in items]))
        if base == "float":
            return self._value(v.DoubleList([float(item) for item in items]))
        return self._value(v.IntList([int(item) for item in items]))


def _fused_activation(op: SchemaOp) -> SchemaOp | None:
    """The activation that bounds the result of a convolution and is its only use, as ExecuTorch's compiler fuses it."""
    if not isinstance(op, ConvolutionOp):
        return None
    users = [use.operation for use in op.result.uses]
    if len(users) != 1 or not isinstance(users[0], (ReluOp, HardtanhOp)):
        return None
    return users[0]


def _qualified(op: SchemaOp, overload_name: str) -> str:
    """The name of an operator with its overload: `aten.relu.default`."""
    name = overload_name if "." in overload_name else f"{overload_name}.default"
    return f"{op.operator.namespace}.{name}"


def _literal_table(value: object) -> v.GraphTypes:
    match value:
        case None:
            return v.Null()
        case bool():
            return v.Bool(value)
        case int():
            return v.Int(value)
        case float():
            return v.Double(value)
        case str():
            return v.String(value)
        case _:
            raise ValueError(f"{value!r} is no argument of a graph")


def _share_memory(graph: v.VkGraph) -> None:
    """Let tensors that are not there at the same time share memory objects; arguments have memory of their own.

    An object goes to the tensor that it is nearest to in size, among those that are free when it is computed.
    """
    own = {*graph.input_ids, *graph.output_ids}
    last: dict[int, int] = {}
    for at, call in enumerate(graph.chain):
        for arg in call.args:
            found = graph.values[arg].value
            for item in found.items if isinstance(found, v.ValueList) else (arg,):
                last[item] = at
    free: dict[int, int] = {}
    sizes: list[int] = []
    ending: dict[int, list[int]] = {}
    for at, call in enumerate(graph.chain):
        for result in results_of(graph, call.args):
            tensor = graph.values[result].value
            # What is packed is kept from one execution to the next.
            if result in own or call.name == "et_vk.prepack.default" or not isinstance(tensor, v.VkTensor):
                continue
            nbytes = prod(tensor.dims) * SCALAR_TYPES[tensor.datatype].itemsize
            number = min(free, key=lambda one: (abs(sizes[one] - nbytes), one), default=None)
            if number is None:
                number = len(sizes)
                sizes.append(nbytes)
            else:
                del free[number]
                sizes[number] = max(sizes[number], nbytes)
            tensor.mem_obj_id = number
            ending.setdefault(last[result], []).append(number)
        free.update(dict.fromkeys(ending.pop(at, ()), 0))
