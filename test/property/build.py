"""A program as a module of the `aten` dialect, made directly: what exporting and importing it gives, in milliseconds.

It is built as close to the text as the dialect allows. Bodies see the values around them and may give what they get;
torch's export copies there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from et_ir.data import Blob
from et_ir.dialects.aten import OP_BY_NAME
from et_ir.dialects.control import CondOp, MapOp, ScanOp, WhileOp, YieldOp, region_of
from et_ir.dialects.program import (
    BufferOp,
    ComputeOp,
    DataAttr,
    GetOp,
    Guards,
    GuardsAttr,
    LiteralOp,
    LoadOp,
    OverwriteOp,
    RangeOp,
    StoreOp,
)
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from property.programs import (
    Argument,
    Body,
    Buffer,
    Call,
    Cond,
    Element,
    Extent,
    Map,
    Node,
    Program,
    Read,
    Scan,
    Type,
    Update,
    Var,
    While,
)

__all__ = ["build", "caller_buffers", "initial"]

NUMPY = {"f32": np.float32, "i64": np.int64, "i1": np.bool_}


def build(program: Program, *, callers_state: bool = False) -> ModuleOp:
    """The module of a program; with `callers_state`, its `caller_buffers` are inputs, which it writes."""
    return _Builder(program, callers_state=callers_state).module()


def caller_buffers(program: Program) -> list[Buffer]:
    """The buffers that a program writes, in the order in which it declares them."""
    stored = {node.buffer for node in program.body.nodes if isinstance(node, Update)}
    return [buffer for buffer in program.buffers if buffer in stored]


def _type(type: Type) -> TensorType[Attribute]:
    sizes = [DYNAMIC_INDEX if isinstance(size, Extent) else size for size in type.shape]
    return TensorType(ELEMENT_TYPES[type.element], sizes)


def initial(buffer: Buffer) -> np.ndarray[Any, Any]:
    """What a buffer holds before the first execution; zeros unless the program says otherwise."""
    array = np.zeros(buffer.type.sizes(0), NUMPY[buffer.type.element])
    if buffer.initial is not None:
        array.flat[:] = buffer.initial
    return array


def _declaration(buffer: Buffer, *, mutable: bool) -> BufferOp:
    properties: dict[str, Attribute] = {"sym_name": StringAttr(buffer.name), "type": _type(buffer.type)}
    if mutable:
        properties["mutable"] = UnitAttr()
    if buffer.initial is not None or not mutable:  # what is never written has data
        blob = Blob.of(buffer.name, initial(buffer).tobytes())
        properties["value"] = DataAttr.of(ELEMENT_TYPES[buffer.type.element], blob)
    return BufferOp.create(properties=properties)


class _Builder:
    def __init__(self, program: Program, *, callers_state: bool):
        self.program = program
        self.callers = caller_buffers(program) if callers_state else []
        self.values: dict[Var, SSAValue] = {}
        self.ops: list[Operation] = []
        self.contents: dict[Buffer, SSAValue] = {}
        self.written: dict[Buffer, None] = {}
        self.stored = set(caller_buffers(program))
        self.size: SSAValue | None = None

    def module(self) -> ModuleOp:
        program = self.program
        types = [each.var.type for each in program.inputs] + [buffer.type for buffer in self.callers]
        block = Block(arg_types=[_type(one) for one in types])
        inputs = [each.var.name for each in program.inputs] + [buffer.name for buffer in self.callers]
        for name, argument in zip(inputs, block.args, strict=True):
            argument.name_hint = name
        self.values.update(zip([each.var for each in program.inputs], block.args, strict=False))
        state = dict(zip(self.callers, block.args[len(program.inputs) :], strict=True))
        self.contents.update(state)
        self._known_sizes()
        self._nodes(program.body.nodes)
        outputs = [self.values[var] for var in program.body.outputs]
        for buffer in self.written:
            content = self.contents[buffer]
            given = state.get(buffer)
            self.ops.append(StoreOp(buffer.name, content) if given is None else OverwriteOp(given, content))
        block.add_ops([*self.ops, ReturnOp(*outputs)])
        names = [DictionaryAttr({"program.name": StringAttr(name)}) for name in inputs]
        function = FuncOp(
            "forward",
            ([argument.type for argument in block.args], [output.type for output in outputs]),
            Region(block),
            arg_attrs=ArrayAttr(names),
        )
        self._guards(function)
        declared = [
            _declaration(buffer, mutable=buffer in self.stored)
            for buffer in program.buffers
            if buffer not in state
        ]
        return ModuleOp([*declared, function])

    # -- sizes

    def _dynamic(self) -> list[tuple[Var, int]]:
        return [
            (each.var, dim)
            for each in self.program.inputs
            for dim, size in enumerate(each.var.type.shape)
            if size == Extent()
        ]

    def _known_sizes(self) -> None:
        """State the range of the size known at run time only, of each input that has it."""
        if self.program.sizes is None:
            return
        for var, dim in self._dynamic():
            op = OP_BY_NAME["sym_size.int"].make(self.values[var], dim)
            self.ops += [op, RangeOp(op.result, *self.program.sizes)]
            self.size = self.size or op.result

    def _guards(self, function: FuncOp) -> None:
        if self.program.sizes is None:
            return
        (first, dim), *rest = self._dynamic()
        low, high = self.program.sizes
        size = f"{first.name}.shape[{dim}]"
        conditions = [f"{low} <= {size} <= {high}", *(f"{v.name}.shape[{d}] == {size}" for v, d in rest)]
        names = tuple(argument.name_hint or "" for argument in function.body.block.args)
        function.attributes["program.guards"] = GuardsAttr(Guards(names, tuple(conditions)))

    def _literal(self, value: Any) -> SSAValue:
        op = LiteralOp(value)
        self.ops.append(op)
        return op.result

    def _compute(self, function: str, *inputs: SSAValue) -> SSAValue:
        op = ComputeOp(function, inputs)
        self.ops.append(op)
        return op.result

    def _extent(self, size: Extent) -> SSAValue:
        assert self.size is not None
        value = self.size
        if size.scale != 1:
            value = self._compute("mul", value, self._literal(size.scale))
        if size.offset:
            value = self._compute("add", value, self._literal(size.offset))
        return value

    # -- nodes

    def _nodes(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            self._define(node.results, self._node(node))

    def _define(self, results: Sequence[Var], values: Sequence[SSAValue]) -> None:
        for var, value in zip(results, values, strict=True):
            wanted = _type(var.type)
            if value.type != wanted:
                raise TypeError(f"{var.name} is inferred as {value.type}, it is {wanted}")
            value.name_hint = value.name_hint or var.name
            self.values[var] = value

    def _node(self, node: Node) -> Sequence[SSAValue]:
        match node:
            case Call():
                return self._call(node.operator, *node.arguments, types=[_type(v.type) for v in node.results])
            case Read():
                return [self._content(node.buffer)]
            case Update():
                self._update(node)
                return ()
            case Cond():
                return self._cond(node)
            case While():
                types = [_type(var.type) for var in node.condition.params]
                regions = [self._region(body, types) for body in (node.condition, node.body)]
                return self._add(WhileOp(self._all(node.inits), *regions))
            case Map():
                types = [_type(var.type) for var in node.results]
                body = self._region(node.body, [_type(var.type) for var in node.body.params])
                return self._add(MapOp(self._all(node.sequences), types, body))
            case Scan():
                types = [_type(var.type) for var in node.results[len(node.inits) :]]
                body = self._region(node.body, [_type(var.type) for var in node.body.params])
                return self._add(ScanOp(self._all(node.inits), self._all(node.sequences), types, body))

    def _all(self, vars: Sequence[Var]) -> list[SSAValue]:
        return [self.values[var] for var in vars]

    def _add(self, op: Operation) -> Sequence[SSAValue]:
        self.ops.append(op)
        return op.results

    def _cond(self, node: Cond) -> Sequence[SSAValue]:
        if isinstance(node.predicate, Var):
            predicate = self.values[node.predicate]
        else:
            predicate = self._compute("gt", self._extent(Extent()), self._literal(node.predicate))
        types = [_type(var.type) for var in node.results]
        regions = [self._region(body, ()) for body in (node.then, node.otherwise)]
        return self._add(CondOp(predicate, types, *regions))

    def _region(self, body: Body, types: Sequence[Attribute]) -> Region:
        region = region_of(types, [var.name for var in body.params])
        outer, self.ops = self.ops, []
        self._define(body.params, region.block.args)
        self._nodes(body.nodes)
        region.block.add_ops([*self.ops, YieldOp(self._all(body.outputs))])
        self.ops = outer
        return region

    def _call(
        self, operator: str, *arguments: Argument | SSAValue, types: Sequence[Attribute] | None = None
    ) -> Sequence[SSAValue]:
        cls = OP_BY_NAME[operator]
        given = [
            self._argument(argument, is_tensor=declared.type.is_tensor)
            for argument, declared in zip(arguments, cls.schema().args, strict=False)
        ]
        return self._add(cls.make(*given, result_types=types))

    def _argument(self, argument: Argument | SSAValue, *, is_tensor: bool) -> Any:
        match argument:
            case Var():
                return self.values[argument]
            case Extent():
                return self._extent(argument)
            case Element():
                return ELEMENT_TYPES[argument.name]
            case tuple():
                return tuple(self._argument(item, is_tensor=is_tensor) for item in argument)
            case bool() | int() | float() if is_tensor:
                return self._literal(argument)
            case _:
                return argument

    # -- state

    def _content(self, buffer: Buffer) -> SSAValue:
        if buffer not in self.contents:
            op = (LoadOp if buffer in self.stored else GetOp)(buffer.name, _type(buffer.type))
            self.ops.append(op)
            op.result.name_hint = buffer.name
            self.contents[buffer] = op.result
        return self.contents[buffer]

    def _update(self, node: Update) -> None:
        buffer, arguments = node.buffer, node.arguments
        type = _type(buffer.type)
        *_, value = arguments
        self.written[buffer] = None
        match node.kind:
            case "copy":
                assert isinstance(value, Var)
                new = self.values[value]
                if new.type != type:
                    (new,) = self._call("expand", value, tuple(type.get_shape()))
            case "add":
                (new,) = self._call("add.Tensor", self._content(buffer), value)
            case "slice" | "select":
                *where, _ = arguments
                (new,) = self._call(f"{node.kind}_scatter", self._content(buffer), value, *where)
            case _:
                (new,) = self._call(node.kind, self._content(buffer), *arguments)
        self.contents[buffer] = new
