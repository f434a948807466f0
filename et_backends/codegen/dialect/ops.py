"""Ops of the `native` dialect: kernels before they are loops, and the vector ops of their loops."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar, Final

from xdsl.dialects.builtin import (
    AnyFloat,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
    UnitAttr,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    BaseAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    RecursiveMemoryEffect,
    SingleBlockImplicitTerminator,
)
from xdsl.utils.exceptions import VerifyException

from et_backends.codegen.dialect.types import memref_type, vector_of, vector_type
from et_ir.dialects.discardable import discardable
from et_ir.dialects.schema.tensors import is_tensor, tensor_type

__all__ = [
    "KERNEL",
    "SECONDS",
    "SERIAL",
    "BarrierOp",
    "CompareOp",
    "ConcatOp",
    "ConvertOp",
    "DotOp",
    "KernelOp",
    "OuterProductOp",
    "PartOp",
    "PrefetchOp",
    "ReportOp",
    "ReportedOp",
    "SelectOp",
    "StridedLoadOp",
    "ViewOp",
    "YieldOp",
]

SECONDS: Final = discardable("native.seconds", DictionaryAttr)
"""Measured times of a kernel on one thread, by form: `choose-algorithms` takes them in place of its estimates."""

KERNEL: Final = discardable("native.kernel_number", IntegerAttr)
"""The number of the kernel that a call is a part of, in the order of the partition."""

SERIAL: Final = discardable("native.serial", UnitAttr)
"""On a call: one thread makes it, as it has less work than a barrier takes."""

PREDICATES: Final = (
    "oeq",
    "ogt",
    "oge",
    "olt",
    "ole",
    "one",
    "ord",
    "ueq",
    "ugt",
    "uge",
    "ult",
    "ule",
    "une",
    "uno",
)
"""Predicates of comparisons of floats: `o` is false for a NaN, `u` true."""

INTEGER_PREDICATES: Final = ("eq", "ne", "slt", "sle", "sgt", "sge")
"""Predicates of comparisons of integers with a sign."""

CONVERSIONS: Final = ("sext", "zext", "trunc", "sitofp", "uitofp", "fptosi")
"""Kinds of conversions of elements: by LLVM's names."""


@irdl_op_definition
class KernelOp(IRDLOperation):
    """Edge ops that become one kernel, whose intermediate results stay in registers.

    `form` is the loop structure: that of the op at its centre (`product`, `reduction`), or `pointwise`.

    ```mlir
    %1 = native.kernel "pointwise"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
      %c = edge.add.Tensor %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      native.yield %c : tensor<4xf32>
    }
    ```

    The types of inputs and results say their order in memory, those inside do not: there is none in registers.

    Rules: `kernel_c1` the body's arguments are the inputs; `kernel_c2` it yields the results.
    """

    name = "native.kernel"
    form = prop_def(StringAttr)
    """The loop structure."""
    inputs = var_operand_def(AnyAttr())
    """Values that the ops read, of any types."""
    outputs = var_result_def(AnyAttr())
    """Values that they compute for ops outside."""
    body = region_def("single_block")
    """The edge ops, and a `native.yield`."""

    traits = lazy_traits_def(
        lambda: (SingleBlockImplicitTerminator(YieldOp), IsolatedFromAbove(), RecursiveMemoryEffect())
    )
    assembly_format = "$form `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body"

    def __init__(
        self, form: str, inputs: Sequence[SSAValue], result_types: Sequence[Attribute], body: Region
    ):
        super().__init__(
            operands=[inputs],
            properties={"form": StringAttr(form)},
            result_types=[result_types],
            regions=[body],
        )

    def outside(self) -> dict[SSAValue, SSAValue]:
        """The inputs, by the arguments of the body that they are."""
        return dict(zip(self.body.block.args, self.inputs, strict=True))

    def tensors(self) -> list[tuple[SSAValue, SSAValue]]:
        """The inputs that are tensors, with the arguments of the body that they are. Others are sizes."""
        pairs = zip(self.inputs, self.body.block.args, strict=True)
        return [(value, argument) for value, argument in pairs if is_tensor(value.type)]

    def has_fixed_sizes(self) -> bool:
        """Whether the sizes of all inputs and results are known when the program is compiled."""
        values = [value for value, _ in self.tensors()]
        return all(tensor_type(value).has_static_shape() for value in (*values, *self.outputs))

    def verify_(self) -> None:
        block = self.body.block
        if list(map(_logical, block.args)) != list(map(_logical, self.inputs)):
            raise VerifyException("[kernel_c1] the arguments of the body differ from the inputs")
        last = block.last_op
        yielded = list(map(_logical, last.operands)) if isinstance(last, YieldOp) else []
        if yielded != list(map(_logical, self.outputs)):
            raise VerifyException("[kernel_c2] the values that the body yields differ from the results")


def _logical(value: SSAValue) -> Attribute:
    """The type of a value without an order in memory."""
    type = value.type
    if not is_tensor(type):
        return type
    return TensorType(type.element_type, type.get_shape())


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The results of a kernel.

    ```mlir
    native.yield %c : tensor<4xf32>
    ```
    """

    name = "native.yield"
    values = var_operand_def(AnyAttr())
    """The results of the kernel, in order."""
    traits = traits_def(IsTerminator(), HasParent(KernelOp))
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue] = ()):
        super().__init__(operands=[values])


@irdl_op_definition
class ViewOp(IRDLOperation):
    """The elements of a tensor in the order that they have in memory, as a tensor of other sizes or another dim order.

    ```mlir
    %1 = native.view %0 : tensor<1x8x4x4xf32, #edge.dim_order<0, 2, 3, 1>> -> tensor<1x4x4x8xf32>
    ```

    Rule: `view_c1` both have the same element type, and as many elements.
    """

    name = "native.view"
    source = operand_def(TensorType)
    """The tensor that is there."""
    result = result_def(TensorType)
    """The same elements, as another tensor."""
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, result_type: Attribute):
        super().__init__(operands=[source], result_types=[result_type])

    def verify_(self) -> None:
        source, result = tensor_type(self.source), tensor_type(self.result)
        counts = [prod(type.get_shape()) for type in (source, result) if type.has_static_shape()]
        if source.element_type != result.element_type or (len(counts) == 2 and counts[0] != counts[1]):
            raise VerifyException(f"[view_c1] {source} cannot be viewed as {result}")


@irdl_op_definition
class StridedLoadOp(IRDLOperation):
    """Elements `stride` apart along one dimension of a buffer, from a place on.

    A column of a register tile: it is loaded element by element, and each is broadcast to the lanes of a vector.

    ```mlir
    %a = native.strided_load %x[%i, %k] dim 0 stride 1 : memref<?x?xf32>, vector<12xf32>
    ```

    Rules: `strided_load_c1` there is an index for each dimension; `strided_load_c2` the dimension is one of the
    buffer's and the stride positive; `strided_load_c3` the element types agree, and the vector has rank 1.
    """

    name = "native.strided_load"
    base = operand_def(MemRefType)
    """The buffer."""
    indices = var_operand_def(IndexType)
    """The place of the first element."""
    dim = prop_def(IntegerAttr.constr(i64))
    """The dimension along which elements are read."""
    stride = prop_def(IntegerAttr.constr(i64))
    """Their distance there, in elements."""
    result = result_def(VectorType)
    """The elements, a vector of rank 1."""
    traits = traits_def()
    assembly_format = (
        "$base `[` $indices `]` `dim` $dim `stride` $stride attr-dict `:` type($base) `,` type($result)"
    )

    def __init__(
        self,
        base: SSAValue,
        indices: Sequence[SSAValue],
        dim: int,
        stride: int,
        result_type: VectorType[Attribute],
    ):
        super().__init__(
            operands=[base, indices],
            properties={"dim": IntegerAttr(dim, i64), "stride": IntegerAttr(stride, i64)},
            result_types=[result_type],
        )

    def verify_(self) -> None:
        base, result = memref_type(self.base), vector_type(self.result)
        if len(self.indices) != base.get_num_dims():
            raise VerifyException(
                f"[strided_load_c1] {len(self.indices)} indices for {base.get_num_dims()} dimensions"
            )
        if not 0 <= self.dim.value.data < base.get_num_dims() or self.stride.value.data < 1:
            raise VerifyException("[strided_load_c2] the dimension or the stride is out of range")
        if base.element_type != result.element_type or result.get_num_dims() != 1:
            raise VerifyException(f"[strided_load_c3] a load of {result} from {base}")


@irdl_op_definition
class OuterProductOp(IRDLOperation):
    """The accumulator plus the outer product of a column and a row, each product fused with its addition.

    ```mlir
    %d = native.outer_product %a, %b, %c : vector<12xf32>, vector<32xf32>, vector<12x32xf32> -> vector<12x32xf32>
    ```

    Rule: `outer_product_c1` the accumulator has a row for each element of the column, a column for each of the row.
    """

    name = "native.outer_product"
    lhs = operand_def(VectorType)
    """The column: m elements."""
    rhs = operand_def(VectorType)
    """The row: n elements."""
    acc = operand_def(VectorType)
    """The addend: m by n elements."""
    result = result_def(VectorType)
    """The sum."""
    traits = traits_def(Pure())
    assembly_format = (
        "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc) `->` type($result)"
    )

    def __init__(self, lhs: SSAValue, rhs: SSAValue, acc: SSAValue):
        super().__init__(operands=[lhs, rhs, acc], result_types=[acc.type])

    def verify_(self) -> None:
        shapes = [vector_type(value).get_shape() for value in (self.lhs, self.rhs, self.acc, self.result)]
        if not shapes[2] == shapes[3] == (*shapes[0], *shapes[1]):
            raise VerifyException(
                f"[outer_product_c1] {self.lhs.type} by {self.rhs.type} does not give {self.acc.type}"
            )


@irdl_op_definition
class DotOp(IRDLOperation):
    """The accumulator plus four products of bytes in each lane, of which none saturates.

    Lanes of the left operand are four bytes without a sign, those of the right operand four with one, the first in the
    low bits. Sums wrap around.

    ```mlir
    %d = native.dot %x, %w, %c : vector<16xi32>
    ```

    Rule: `dot_c1` elements are of i32.
    """

    T: ClassVar = VarConstraint("T", BaseAttr(VectorType))

    name = "native.dot"
    lhs = operand_def(T)
    """Bytes without a sign."""
    rhs = operand_def(T)
    """Bytes with a sign."""
    acc = operand_def(T)
    """The addend."""
    result = result_def(T)
    """The sums."""
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs `,` $acc attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, acc: SSAValue):
        super().__init__(operands=[lhs, rhs, acc], result_types=[acc.type])

    def verify_(self) -> None:
        if vector_type(self.acc).element_type != i32:
            raise VerifyException(f"[dot_c1] sums of bytes in {self.acc.type}")


@irdl_op_definition
class ConcatOp(IRDLOperation):
    """One row vector of several, such as of panels of a packed matrix.

    ```mlir
    %b = native.concat %b0, %b1 : (vector<16xf32>, vector<16xf32>) -> vector<32xf32>
    ```

    Rule: `concat_c1` the result has as many elements as the operands together.
    """

    name = "native.concat"
    parts = var_operand_def(VectorType)
    """Vectors of rank 1, from the first column on."""
    result = result_def(VectorType)
    """Their elements in a row."""
    traits = traits_def(Pure())
    assembly_format = "$parts attr-dict `:` functional-type($parts, $result)"

    def __init__(self, parts: Sequence[SSAValue]):
        types = [vector_type(part) for part in parts]
        width = sum(type.get_shape()[0] for type in types)
        super().__init__(operands=[parts], result_types=[vector_of(width, element=types[0].element_type)])

    def verify_(self) -> None:
        types = [vector_type(part) for part in self.parts]
        result = vector_type(self.result)
        if any(
            len(type.get_shape()) != 1 or type.element_type != result.element_type for type in types
        ) or result.get_shape() != (sum(type.get_shape()[0] for type in types),):
            raise VerifyException(f"[concat_c1] {', '.join(map(str, types))} make no {result}")


@irdl_op_definition
class CompareOp(IRDLOperation):
    """Comparison element by element; xDSL's `arith` and `llvm` compare no vectors.

    The predicates are those of `arith.cmpf` for floats, as `olt` or `une`, and those of `arith.cmpi` with a sign for
    integers, as `slt` or `ne`.

    ```mlir
    %m = native.compare "olt", %a, %b : vector<16xf32>, vector<16xf32> -> vector<16xi1>
    ```

    Rules: `compare_c1` the predicate is one of a comparison; `compare_c2` the result has a bit for each element.
    """

    name = "native.compare"
    predicate = prop_def(StringAttr)
    """The predicate."""
    lhs = operand_def(VectorType)
    """The left elements."""
    rhs = operand_def(VectorType)
    """The right elements."""
    result = result_def(VectorType)
    """A bit for each pair."""
    traits = traits_def(Pure())
    assembly_format = (
        "$predicate `,` $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"
    )

    def __init__(self, predicate: str, lhs: SSAValue, rhs: SSAValue):
        type = vector_type(lhs)
        super().__init__(
            operands=[lhs, rhs],
            properties={"predicate": StringAttr(predicate)},
            result_types=[vector_of(*type.get_shape(), element=i1)],
        )

    def verify_(self) -> None:
        type, result = vector_type(self.lhs), vector_type(self.result)
        known = PREDICATES if isinstance(type.element_type, AnyFloat) else INTEGER_PREDICATES
        if self.predicate.data not in known:
            raise VerifyException(f"[compare_c1] '{self.predicate.data}' is not one of {', '.join(known)}")
        if self.rhs.type != type or result.element_type != i1 or result.get_shape() != type.get_shape():
            raise VerifyException(f"[compare_c2] {type} compared with {self.rhs.type} does not give {result}")


@irdl_op_definition
class SelectOp(IRDLOperation):
    """Elements of the one vector where a bit is set, of the other elsewhere; xDSL's `select` takes one bit.

    ```mlir
    %c = native.select %m, %a, %b : vector<16xi1>, vector<16xf32>
    ```

    Rule: `select_c1` there is a bit for each element.
    """

    name = "native.select"
    T: ClassVar = VarConstraint("T", VectorType.constr())
    mask = operand_def(VectorType)
    """A bit for each element."""
    lhs = operand_def(T)
    """Elements where it is set."""
    rhs = operand_def(T)
    """Elements where it is clear."""
    result = result_def(T)
    """The selected elements."""
    traits = traits_def(Pure())
    assembly_format = "$mask `,` $lhs `,` $rhs attr-dict `:` type($mask) `,` type($result)"

    def __init__(self, mask: SSAValue, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[mask, lhs, rhs], result_types=[lhs.type])

    def verify_(self) -> None:
        mask, type = vector_type(self.mask), vector_type(self.result)
        if mask.element_type != i1 or mask.get_shape() != type.get_shape():
            raise VerifyException(f"[select_c1] {mask} does not select elements of {type}")


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """A hint that a place of a buffer is read soon: it is brought into the second cache.

    The place may be beyond the end of the buffer.

    ```mlir
    native.prefetch %w[%i, %k] : memref<?x?xf32>
    ```

    Rule: `prefetch_c1` there is an index for each dimension.
    """

    name = "native.prefetch"
    base = operand_def(MemRefType)
    """The buffer."""
    indices = var_operand_def(IndexType)
    """The place, an index for each dimension."""
    traits = traits_def()
    assembly_format = "$base `[` $indices `]` attr-dict `:` type($base)"

    def __init__(self, base: SSAValue, indices: Sequence[SSAValue]):
        super().__init__(operands=[base, indices])

    def verify_(self) -> None:
        rank = memref_type(self.base).get_num_dims()
        if len(self.indices) != rank:
            raise VerifyException(f"[prefetch_c1] {len(self.indices)} indices for {rank} dimensions")


@irdl_op_definition
class PartOp(IRDLOperation):
    """The part of a thread of a loop's iterations from 0, and a number that no other thread with a part has.

    For loops that keep something from one iteration to the next, or that have blocks of iterations. Where there is
    memory for some threads only, iterations are shared by at most `most`.

    ```mlir
    %start, %end, %thread = native.part %count
    %first, %last, %number = native.part %count most 8
    ```

    Rule: `part_c1` the number of threads is positive.
    """

    name = "native.part"
    count = operand_def(IndexType)
    """Iterations of the loop."""
    most = opt_prop_def(IntegerAttr.constr(i64))
    """Threads that share them at most; all of them, if it is not given."""
    first = result_def(IndexType)
    """The first iteration of the thread."""
    last = result_def(IndexType)
    """The end of its iterations."""
    number = result_def(IndexType)
    """The number of the thread, below `most` if it has iterations."""
    traits = traits_def(Pure())
    assembly_format = "$count (`most` $most^)? attr-dict"

    def __init__(self, count: SSAValue, most: int | None = None):
        super().__init__(
            operands=[count],
            properties={"most": None if most is None else IntegerAttr(most, i64)},
            result_types=[IndexType(), IndexType(), IndexType()],
        )

    def verify_(self) -> None:
        if self.most is not None and self.most.value.data < 1:
            raise VerifyException(f"[part_c1] {self.most.value.data} threads")


@irdl_op_definition
class ConvertOp(IRDLOperation):
    """Conversion element by element; xDSL's `arith` and `llvm` convert no vectors.

    `sext` and `zext` widen integers with or without a sign, `trunc` narrows them; `sitofp` and `uitofp` make floats of
    them, rounded to nearest; `fptosi` rounds floats toward zero, to the nearest integer there is where they are out of
    range, and NaN to 0.

    ```mlir
    %b = native.convert "sitofp" %a : vector<16xi64> -> vector<16xf32>
    ```

    Rules: `convert_c1` the kind is one of a conversion; `convert_c2` the shapes agree.
    """

    name = "native.convert"
    kind = prop_def(StringAttr)
    """The conversion, by LLVM's name of it."""
    source = operand_def(VectorType)
    """The elements."""
    result = result_def(VectorType)
    """The same numbers in another element type."""
    traits = traits_def(Pure())
    assembly_format = "$kind $source attr-dict `:` type($source) `->` type($result)"

    def __init__(self, kind: str, source: SSAValue, element: Attribute):
        super().__init__(
            operands=[source],
            properties={"kind": StringAttr(kind)},
            result_types=[vector_of(*vector_type(source).get_shape(), element=element)],
        )

    def verify_(self) -> None:
        if self.kind.data not in CONVERSIONS:
            raise VerifyException(f"[convert_c1] '{self.kind.data}' is not one of {', '.join(CONVERSIONS)}")
        if vector_type(self.source).get_shape() != vector_type(self.result).get_shape():
            raise VerifyException(f"[convert_c2] {self.source.type} is not converted to {self.result.type}")


@irdl_op_definition
class ReportOp(IRDLOperation):
    """Report of an invalid argument of the call, such as an index that is out of range.

    The code goes on, with what it may do safely. The number is that of a message which the runtime raises an error
    with; of several reports, that with the least number counts.

    ```mlir
    native.report 3
    ```
    """

    name = "native.report"
    number = prop_def(IntegerAttr.constr(i64))
    """The number of the message."""
    traits = traits_def()
    assembly_format = "$number attr-dict"

    def __init__(self, number: int):
        super().__init__(properties={"number": IntegerAttr(number, i64)})


@irdl_op_definition
class ReportedOp(IRDLOperation):
    """Whether an invalid argument of the call was reported before the last barrier.

    Of reports since then, some threads may see one and others not.

    ```mlir
    %failed = native.reported
    ```
    """

    name = "native.reported"
    result = result_def(i1)
    """Set if there is a report."""
    traits = traits_def()
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__(result_types=[i1])


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """A point that no thread passes before all have reached it.

    ```mlir
    native.barrier
    ```
    """

    name = "native.barrier"
    traits = traits_def()
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()
