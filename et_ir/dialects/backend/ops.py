"""Ops of the `backend` dialect: subgraphs that a backend takes over, before and after it compiles them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    LocationAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    base,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    RecursiveMemoryEffect,
    SingleBlockImplicitTerminator,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.backend.attributes import CompileSpecAttr
from et_ir.dialects.program import DataAttr

__all__ = ["CallOp", "LoweredOp", "NamedDataOp", "PartitionOp", "YieldOp"]

_SPECS = base(ArrayAttr[CompileSpecAttr])


class _TakesArguments(IsolatedFromAbove):
    """The body uses values from outside through its arguments only."""

    def verify(self, op: Operation) -> None:
        for inner in op.regions[0].walk():
            if not all(op.is_ancestor(operand.owner) for operand in inner.operands):
                raise VerifyException(f"[partition_c4] '{inner.name}' uses a value from outside")


@irdl_op_definition
class PartitionOp(IRDLOperation):
    """A subgraph that a backend will compile.

    Its body computes the results from the inputs, and from constants that it reads itself.

    ```mlir
    %1 = backend.partition "demo" specs [#backend.compile_spec<"k", "v">](%x) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %b = edge.relu %a : tensor<4xf32>
      backend.yield %b : tensor<4xf32>
    }
    ```

    Rules: `partition_c1` the body's arguments are the inputs; `partition_c2` it yields the results;
    `partition_c3` the backend has a name; `partition_c4` the body uses no value from outside but through its
    arguments.
    """

    name = "backend.partition"
    backend = prop_def(StringAttr)
    """The backend's id, as files have it."""
    specs = opt_prop_def(_SPECS)
    """Settings that the backend compiles with, and that the file has for loading."""
    inputs = var_operand_def(AnyAttr())
    """Values that the body takes: tensors and numbers, no constants."""
    outputs = var_result_def(AnyAttr())
    """Results, as the body yields them."""
    body = region_def("single_block")
    """A block of edge ops, with an argument for each input."""

    traits = lazy_traits_def(
        lambda: (SingleBlockImplicitTerminator(YieldOp), _TakesArguments(), RecursiveMemoryEffect())
    )
    assembly_format = (
        "$backend (`specs` $specs^)? `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body"
    )

    def __init__(
        self,
        backend: str,
        specs: Sequence[CompileSpecAttr],
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        body: Region,
    ):
        super().__init__(
            operands=[inputs],
            properties={"backend": StringAttr(backend), **_specs(specs)},
            result_types=[result_types],
            regions=[body],
        )

    def verify_(self) -> None:
        if not self.backend.data:
            raise VerifyException("[partition_c3] the backend has no name")
        block = self.body.block
        arguments = [argument.type for argument in block.args]
        inputs = [value.type for value in self.inputs]
        if arguments != inputs:
            raise VerifyException(
                f"[partition_c1] the body takes {_join(arguments)}, the inputs are {_join(inputs)}"
            )
        last = block.last_op
        yielded = [value.type for value in last.operands] if isinstance(last, YieldOp) else []
        results = [result.type for result in self.outputs]
        if yielded != results:
            raise VerifyException(
                f"[partition_c2] the body yields {_join(yielded)}, the results are {_join(results)}"
            )


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The results of a partition.

    ```mlir
    backend.yield %b : tensor<4xf32>
    ```
    """

    name = "backend.yield"
    values = var_operand_def(AnyAttr())
    """A value for each result of the partition."""
    traits = traits_def(IsTerminator(), HasParent(PartitionOp))
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue] = ()):
        super().__init__(operands=[values])


@irdl_op_definition
class LoweredOp(IRDLOperation):
    """A subgraph that a backend has compiled: what it made of it, and the settings it is loaded with.

    `debug_handles` says which ops each of the backend's own identifiers stands for, by their locations: what upstream's
    debug handle map says by numbers. `debug_orders` has those of them whose values are not as in the program: the
    dimensions of the last op's result in the order that the backend has them in, outermost first, or none for a value
    that no op has.
    `alignment` is that of the blob in the file, in bytes, where the backend needs more than every segment
    has. `updates` are pairs of an output and an input, by number: the output is the input with other elements in some
    places, and a call may give both the same memory.

    ```mlir
    backend.lowered @lowered_0 "demo" specs [#backend.compile_spec<"k", "v">] = #program.data<ui8, [1, 2]>
    ```

    Rules: `lowered_c1` the backend has a name; `lowered_c2` the alignment is a power of two; `lowered_c3` the
    identifiers of `debug_handles` stand for locations; `lowered_c4` `updates` are pairs, no output or input of which is
    in two; `lowered_c5` each of `debug_orders` is an order of
    dimensions for one of these identifiers.
    """

    name = "backend.lowered"
    sym_name = prop_def(SymbolNameConstraint())
    """The name that calls refer to."""
    backend = prop_def(StringAttr)
    """The backend's id."""
    specs = opt_prop_def(_SPECS)
    """Settings that the backend gets when the file is loaded."""
    value = prop_def(DataAttr)
    """The blob."""
    debug_handles = opt_prop_def(DictionaryAttr)
    """Lists of locations by the backend's own identifiers."""
    debug_orders = opt_prop_def(DictionaryAttr)
    """Orders of dimensions by the backend's own identifiers."""
    alignment = opt_prop_def(IntegerAttr.constr(i64))
    """Alignment of the blob in the file, in bytes."""
    updates = opt_prop_def(DenseArrayBase.constr(i64))
    """Numbers of an output and of the input that it updates, one pair after the other."""

    traits = traits_def(SymbolOpInterface())
    assembly_format = (
        "$sym_name $backend (`specs` $specs^)? (`align` $alignment^)? (`updates` qualified($updates)^)? "
        "(`debug_handles` $debug_handles^)? (`debug_orders` $debug_orders^)? "
        "`=` qualified($value) attr-dict"
    )

    def __init__(
        self,
        name: str,
        backend: str,
        specs: Sequence[CompileSpecAttr],
        value: DataAttr,
        *,
        debug_handles: DictionaryAttr | None = None,
        debug_orders: Mapping[str, Sequence[int]] | None = None,
        alignment: int = 1,
        updates: Mapping[int, int] | None = None,
    ):
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "backend": StringAttr(backend),
            "value": value,
            **_specs(specs),
        }
        if debug_handles is not None:
            properties["debug_handles"] = debug_handles
        if debug_orders:
            properties["debug_orders"] = DictionaryAttr(
                {key: DenseArrayBase.from_list(i64, order) for key, order in debug_orders.items()}
            )
        if alignment != 1:
            properties["alignment"] = IntegerAttr(alignment, i64)
        if updates:
            pairs = [number for pair in updates.items() for number in pair]
            properties["updates"] = DenseArrayBase.from_list(i64, pairs)
        super().__init__(properties=properties)

    @property
    def orders(self) -> dict[str, tuple[int, ...]]:
        """The orders of dimensions of `debug_orders`."""
        if self.debug_orders is None:
            return {}
        return {
            key: tuple(int(dim) for dim in order.get_values())
            for key, order in self.debug_orders.data.items()
            if isinstance(order, DenseArrayBase)
        }

    @property
    def updated_inputs(self) -> dict[int, int]:
        """The numbers of outputs that update an input, and that of each one's input."""
        numbers = () if self.updates is None else self.updates.get_values()
        return dict(zip(numbers[::2], numbers[1::2], strict=True))

    @property
    def key(self) -> str:
        """The symbol's name."""
        return self.sym_name.data

    def set_alignment(self, alignment: int) -> None:
        """Set the alignment of the blob in the file, in bytes; 1 is that of every segment."""
        if alignment == 1:
            self.properties.pop("alignment", None)
        else:
            self.properties["alignment"] = IntegerAttr(alignment, i64)

    def verify_(self) -> None:
        if not self.backend.data:
            raise VerifyException("[lowered_c1] the backend has no name")
        _verify_alignment(self.alignment, "lowered_c2")
        if self.updates is not None:
            numbers = self.updates.get_values()
            halves = numbers[::2], numbers[1::2]
            if len(numbers) % 2 or min(numbers, default=0) < 0 or any(len(set(h)) < len(h) for h in halves):
                raise VerifyException(f"[lowered_c4] {list(numbers)} are no pairs of an output and an input")
        for identifier, places in self.debug_handles.data.items() if self.debug_handles is not None else ():
            if not isinstance(places, ArrayAttr) or not all(
                isinstance(place, LocationAttr) for place in cast("ArrayAttr[Attribute]", places)
            ):
                raise VerifyException(
                    f"[lowered_c3] the identifier '{identifier}' stands for {places}, not for locations"
                )
        for identifier, order in self.debug_orders.data.items() if self.debug_orders is not None else ():
            known = self.orders.get(identifier)
            if known is None or sorted(known) != list(range(len(known))):
                raise VerifyException(f"[lowered_c5] '{identifier}' has {order}, not an order of dimensions")
            if self.debug_handles is None or identifier not in self.debug_handles.data:
                raise VerifyException(f"[lowered_c5] '{identifier}' has an order, but stands for nothing")


@irdl_op_definition
class CallOp(IRDLOperation):
    """The results of a compiled subgraph.

    ```mlir
    %1 = backend.call @lowered_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
    ```

    Rule, checked by `verify-backend`: `backend_c2` the symbol is a `backend.lowered`.
    """

    name = "backend.call"
    callee = prop_def(FlatSymbolRefAttrConstr)
    """The compiled subgraph."""
    inputs = var_operand_def(AnyAttr())
    """A value for each input of the partition."""
    outputs = var_result_def(AnyAttr())
    """A result for each of its results."""
    assembly_format = "$callee `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)"

    def __init__(self, callee: str, inputs: Sequence[SSAValue], result_types: Sequence[Attribute]):
        super().__init__(
            operands=[inputs],
            properties={"callee": SymbolRefAttr(callee)},
            result_types=[result_types],
        )


@irdl_op_definition
class NamedDataOp(IRDLOperation):
    """Bytes that a backend finds in the file by their name, such as weights that several partitions share.

    ```mlir
    backend.named_data "weights" align 64 = #program.data<ui8, [1, 2]>
    ```

    With the attribute `executorch.data_file = "weights.ptd"` the bytes are in this data file beside the program.

    Rule: `named_data_c1` the alignment is a power of two.
    """

    name = "backend.named_data"
    key_attr = prop_def(StringAttr, prop_name="key")
    """The name that the backend asks for."""
    alignment = opt_prop_def(IntegerAttr.constr(i64))
    """Alignment of the bytes in the file, in bytes."""
    value = prop_def(DataAttr)
    """The bytes."""

    assembly_format = "$key (`align` $alignment^)? `=` qualified($value) attr-dict"

    def __init__(self, name: str, value: DataAttr, *, alignment: int = 1):
        properties: dict[str, Attribute] = {"key": StringAttr(name), "value": value}
        if alignment != 1:
            properties["alignment"] = IntegerAttr(alignment, i64)
        super().__init__(properties=properties)

    @property
    def key(self) -> str:
        """The name."""
        return self.key_attr.data

    def verify_(self) -> None:
        _verify_alignment(self.alignment, "named_data_c1")


def _specs(specs: Sequence[CompileSpecAttr]) -> dict[str, Attribute]:
    return {"specs": ArrayAttr(specs)} if specs else {}


def _verify_alignment(alignment: IntegerAttr | None, label: str) -> None:
    if alignment is not None:
        value = alignment.value.data
        if value < 1 or value & (value - 1):
            raise VerifyException(f"[{label}] an alignment of {value} bytes is not a power of two")


def _join(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types)) or "nothing"
