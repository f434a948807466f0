"""Ops of the `control` dialect. Their regions are blocks of ops that end with `control.yield`."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import HasParent, IsTerminator, Pure, RecursiveMemoryEffect, SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.control.types import fits, slice_type
from et_ir.dialects.schema.tensors import is_tensor, may_be_same_type, tensor_type

__all__ = ["CondOp", "ControlOp", "LoopOp", "MapOp", "ScanOp", "WhileOp", "YieldOp"]


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Terminator that gives the results of a region.

    ```mlir
    control.yield %a, %n : tensor<4xf32>, i64
    ```
    """

    name = "control.yield"
    values = var_operand_def(AnyAttr())
    """The results of the region, for the op around it."""
    traits = lazy_traits_def(
        lambda: (IsTerminator(), Pure(), HasParent(CondOp, WhileOp, MapOp, ScanOp)),
    )
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[values])


class ControlOp(IRDLOperation, ABC):
    """An op whose regions compute its results."""

    def yielded(self, region: Region) -> tuple[SSAValue, ...]:
        """The values that a region yields. Raises `VerifyException` if it does not."""
        last = region.block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException(f"[control_c1] a region of {self.name} ends without control.yield")
        return tuple(last.values)

    def _check(
        self, label: str, what: str, given: Sequence[SSAValue], declared: Sequence[Attribute], wanted: str
    ) -> None:
        """Check that values fit types. Raises `VerifyException` with both."""
        types = [value.type for value in given]
        if len(types) != len(declared) or not all(map(fits, types, declared)):
            raise VerifyException(f"[{label}] {what} {_list(types)}, expected {wanted} {_list(declared)}")


def _list(types: Sequence[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"


@irdl_op_definition
class CondOp(ControlOp):
    """One of two regions, by a predicate: a tensor of one boolean, or an i1.

    ```mlir
    %r, %n = control.cond %p : tensor<i1> -> (tensor<4xf32>, i64) {
      %a = aten.relu %x : tensor<4xf32>
      control.yield %a, %one : tensor<4xf32>, i64
    } else {
      control.yield %x, %two : tensor<4xf32>, i64
    }
    ```

    Rules: `control_c1` a region ends with `control.yield`; `cond_c1` the predicate is a boolean; `cond_c2` both regions
    yield what fits the results; `cond_c3` they have no arguments.
    """

    name = "control.cond"
    predicate = operand_def(AnyAttr())
    """An i1, or a tensor of one i1."""
    outputs = var_result_def(AnyAttr())
    """Values yielded by the region that was executed."""
    then_region = region_def("single_block")
    """Computes the results if the predicate is true."""
    else_region = region_def("single_block")
    """Computes them if it is false."""

    traits = traits_def(SingleBlockImplicitTerminator(YieldOp), RecursiveMemoryEffect())
    assembly_format = (
        "$predicate `:` type($predicate) `->` `(` type($outputs) `)` attr-dict-with-keyword "
        "$then_region `else` $else_region"
    )

    def __init__(
        self,
        predicate: SSAValue,
        result_types: Sequence[Attribute],
        then_region: Region,
        else_region: Region,
    ):
        super().__init__(
            operands=[predicate], result_types=[result_types], regions=[then_region, else_region]
        )

    def verify_(self) -> None:
        _verify_boolean("cond_c1", self.predicate.type)
        types = [output.type for output in self.outputs]
        for region in (self.then_region, self.else_region):
            if region.block.args:
                raise VerifyException(
                    "[cond_c3] a branch takes no arguments: it uses enclosing values directly"
                )
            self._check("cond_c2", "a branch yields", self.yielded(region), types, "what fits the results")


class LoopOp(ControlOp, ABC):
    """An op with a region that may run any number of times."""


@irdl_op_definition
class WhileOp(LoopOp):
    """Repeat a region on what it yields, as long as another says so.

    ```mlir
    %n, %r = control.while (%zero, %x) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
    ^bb0(%i: tensor<i64>, %a: tensor<4xf32>):
      %p = aten.lt.Scalar %i {other = 5} : (tensor<i64>) -> tensor<i1>
      control.yield %p : tensor<i1>
    } do {
    ^bb0(%i: tensor<i64>, %a: tensor<4xf32>):
      %j = aten.add.Scalar %i {other = 1} : tensor<i64>
      %b = aten.relu %a : tensor<4xf32>
      control.yield %j, %b : tensor<i64>, tensor<4xf32>
    }
    ```

    Rules: `control_c1` a region ends with `control.yield`; `while_c1` both regions take what is carried, and the
    initial values fit it; `while_c2` the first yields one boolean; `while_c3` the second yields what fits its
    arguments; `while_c4` the results are what is carried.
    """

    name = "control.while"
    inits = var_operand_def(AnyAttr())
    """Initial values of the loop-carried variables."""
    outputs = var_result_def(AnyAttr())
    """Final values of the loop-carried variables."""
    condition = region_def("single_block")
    """Takes what is carried, yields whether to go on."""
    body = region_def("single_block")
    """Takes what is carried, yields it for the next iteration."""

    traits = traits_def(SingleBlockImplicitTerminator(YieldOp), RecursiveMemoryEffect())
    assembly_format = (
        "`(` $inits `)` `:` functional-type($inits, $outputs) attr-dict-with-keyword $condition `do` $body"
    )

    def __init__(self, inits: Sequence[SSAValue], condition: Region, body: Region):
        super().__init__(
            operands=[inits], result_types=[list(body.block.arg_types)], regions=[condition, body]
        )

    def verify_(self) -> None:
        carried = list(self.body.block.arg_types)
        for region in (self.condition, self.body):
            self._check("while_c1", "the initial values are", self.inits, list(region.block.arg_types), "")
        given = list(self.condition.block.arg_types)
        if len(given) != len(carried) or not all(map(may_be_same_type, given, carried)):
            raise VerifyException("[while_c1] the two regions take different types")
        condition = self.yielded(self.condition)
        if len(condition) != 1:
            raise VerifyException(f"[while_c2] the condition is one boolean, not {len(condition)} values")
        _verify_boolean("while_c2", condition[0].type)
        self._check("while_c3", "the body yields", self.yielded(self.body), carried, "what it takes:")
        results = [output.type for output in self.outputs]
        if results != carried:
            raise VerifyException(
                f"[while_c4] the results are {_list(results)}, but {_list(carried)} is carried"
            )


class SlicedOp(LoopOp, ABC):
    """A loop over the slices of tensors along their first dimension."""

    def _verify_slices(
        self,
        label: str,
        sequences: Sequence[SSAValue],
        arguments: Sequence[SSAValue],
        items: Sequence[SSAValue],
        stacked: Sequence[SSAValue],
    ) -> None:
        """Check what the body takes of the sequences, and what its items are put together to."""
        slices: list[Attribute] = []
        for sequence in sequences:
            type = sequence.type
            if not is_tensor(type) or type.get_num_dims() == 0:
                raise VerifyException(f"[{label}_c1] {type} has no first dimension to iterate over")
            slices.append(slice_type(type))
        if not slices:
            raise VerifyException(f"[{label}_c1] no sequence to iterate over")
        self._check(f"{label}_c2", "the body takes", arguments, slices, "slices:")
        wanted: list[Attribute] = []
        for output in stacked:
            type = output.type
            if not is_tensor(type) or type.get_num_dims() == 0:
                raise VerifyException(f"[{label}_c3] the result {type} is not a stack of tensors")
            wanted.append(slice_type(type))
        self._check(f"{label}_c3", "the body yields", items, wanted, "slices of the results:")
        lengths = {tensor_type(value).get_shape()[0] for value in (*sequences, *stacked)}
        if len(lengths - {-1}) > 1:
            raise VerifyException(f"[{label}_c4] the lengths differ: {sorted(lengths)}")


@irdl_op_definition
class MapOp(SlicedOp):
    """Apply a region to each slice of tensors along their first dimension, and stack what it yields.

    ```mlir
    %r = control.map over (%xs) : (tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    ^bb0(%x: tensor<4xf32>):
      %y = aten.add.Tensor %x, %b : tensor<4xf32>
      control.yield %y : tensor<4xf32>
    }
    ```

    Rules: `control_c1` the region ends with `control.yield`; `map_c1` there are tensors with a first dimension;
    `map_c2` the body takes their slices; `map_c3` it yields the slices of the results; `map_c4` all lengths are the
    same.
    """

    name = "control.map"
    sequences = var_operand_def(AnyAttr())
    """Tensors with the same first dimension."""
    outputs = var_result_def(AnyAttr())
    """Stacks of what the body yields, with that dimension first."""
    body = region_def("single_block")
    """Takes a slice of each sequence, without the first dimension."""

    traits = traits_def(SingleBlockImplicitTerminator(YieldOp), RecursiveMemoryEffect())
    assembly_format = (
        "`over` `(` $sequences `)` `:` functional-type($sequences, $outputs) attr-dict-with-keyword $body"
    )

    def __init__(self, sequences: Sequence[SSAValue], result_types: Sequence[Attribute], body: Region):
        super().__init__(operands=[sequences], result_types=[result_types], regions=[body])

    def verify_(self) -> None:
        self._verify_slices(
            "map", self.sequences, self.body.block.args, self.yielded(self.body), self.outputs
        )


@irdl_op_definition
class ScanOp(SlicedOp):
    """Go over the slices of tensors with a state.

    The region takes state and slices, and yields the next state and items, which are stacked. The results are the last
    state and the stacks.

    ```mlir
    %h, %ys = control.scan (%h0) over (%xs) : (tensor<4xf32>) over (tensor<3x4xf32>)
                                              -> (tensor<4xf32>) stacked (tensor<3x4xf32>) {
    ^bb0(%s: tensor<4xf32>, %x: tensor<4xf32>):
      %y = aten.add.Tensor %s, %x : tensor<4xf32>
      control.yield %y, %y : tensor<4xf32>, tensor<4xf32>
    }
    ```

    Rules: `control_c1` the region ends with `control.yield`; `scan_c1` to `scan_c4` as of `map`; `scan_c5` the initial
    state, what the body yields for it and the results fit the arguments that stand for it.
    """

    name = "control.scan"
    inits = var_operand_def(AnyAttr())
    """The state before the first slice."""
    sequences = var_operand_def(AnyAttr())
    """Tensors with the same first dimension."""
    carried = var_result_def(AnyAttr())
    """The state after the last slice."""
    stacked = var_result_def(AnyAttr())
    """Stacks of the items, with that dimension first."""
    body = region_def("single_block")
    """Takes the state and a slice of each sequence, yields the next state and the items."""

    irdl_options = (AttrSizedOperandSegments(as_property=True), AttrSizedResultSegments(as_property=True))
    traits = traits_def(SingleBlockImplicitTerminator(YieldOp), RecursiveMemoryEffect())
    assembly_format = (
        "`(` $inits `)` `over` `(` $sequences `)` `:` `(` type($inits) `)` `over` `(` type($sequences) `)` "
        "`->` `(` type($carried) `)` `stacked` `(` type($stacked) `)` attr-dict-with-keyword $body"
    )

    def __init__(
        self,
        inits: Sequence[SSAValue],
        sequences: Sequence[SSAValue],
        stacked_types: Sequence[Attribute],
        body: Region,
    ):
        super().__init__(
            operands=[inits, sequences],
            result_types=[list(body.block.arg_types)[: len(inits)], stacked_types],
            regions=[body],
        )

    def verify_(self) -> None:
        count = len(self.inits)
        arguments, yielded = self.body.block.args, self.yielded(self.body)
        self._verify_slices("scan", self.sequences, arguments[count:], yielded[count:], self.stacked)
        state = [argument.type for argument in arguments[:count]]
        self._check("scan_c5", "the initial state is", self.inits, state, "")
        self._check("scan_c5", "the body yields the state", yielded[:count], state, "")
        results = [output.type for output in self.carried]
        if results != state:
            raise VerifyException(f"[scan_c5] the results are {_list(results)}, but the state {_list(state)}")


def _verify_boolean(label: str, type: Attribute) -> None:
    if type == i1:
        return
    if not is_tensor(type) or type.element_type != i1 or any(size != 1 for size in type.get_shape()):
        raise VerifyException(f"[{label}] {type} is not a single boolean")


def region_of(arguments: Sequence[Attribute], hints: Sequence[str | None] = ()) -> Region:
    """A region of one empty block with arguments of these types."""
    block = Block(arg_types=arguments)
    for argument, hint in zip(block.args, hints, strict=False):
        argument.name_hint = hint
    return Region(block)
