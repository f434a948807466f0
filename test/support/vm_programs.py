"""Programs built by hand from schema objects, the few kernels that they call, and loading the one with the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from et_schema.program import (
    AllocationDetails,
    BackendDelegate,
    BackendDelegateDataReference,
    BackendDelegateInlineData,
    Bool,
    BoolList,
    Chain,
    CompileSpec,
    ContainerMetadata,
    DelegateCall,
    Double,
    DoubleList,
    EValue,
    ExecutionPlan,
    ExtraTensorInfo,
    Frame,
    FrameList,
    FreeCall,
    Instruction,
    Int,
    IntList,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    Null,
    Operator,
    OptionalTensorList,
    Program,
    String,
    SubsegmentOffsets,
    Tensor,
    TensorDataLocation,
    TensorList,
    TensorShapeDynamism,
)
from et_schema.pte import serialize_pte
from et_schema.scalar_type import ScalarType, scalar_type_of
from et_vm import values
from et_vm.kernels.registry import KernelRegistry, PrepareContext
from et_vm.program import Program as LoadedProgram
from et_vm.run.method import Method
from et_vm.step import Step

STATIC = TensorShapeDynamism.STATIC
BOUND = TensorShapeDynamism.DYNAMIC_BOUND
UNBOUND = TensorShapeDynamism.DYNAMIC_UNBOUND


class Build:
    """Collects the values and instructions of one method; `program()` and `file()` are the result."""

    def __init__(self, name: str = "forward") -> None:
        self.plan = ExecutionPlan(
            name=name,
            container_meta_type=ContainerMetadata(),
            chains=[Chain()],
            non_const_buffer_sizes=[0],
        )
        self.constants = bytearray(16)
        self.constant_offsets = [0]
        self.states = bytearray(16)
        self.state_offsets = [0]
        self.blobs: list[bytes] = []
        self.arena = 0

    # Values

    def value(self, table: Any) -> int:
        self.plan.values.append(EValue(table))
        return len(self.plan.values) - 1

    def scalar(self, value: float | str | bool | None) -> int:
        tables = {bool: Bool, int: Int, float: Double, str: String, type(None): lambda _: Null()}
        return self.value(tables[type(value)](value))

    def ints(self, *items: int) -> int:
        return self.value(IntList([self.scalar(item) for item in items]))

    def list_of(self, *registers: int) -> int:
        return self.value(IntList(list(registers)))

    def doubles(self, *items: float) -> int:
        return self.value(DoubleList(list(items)))

    def bools(self, *items: bool) -> int:
        return self.value(BoolList(list(items)))

    def tensors(self, *registers: int, optional: bool = False) -> int:
        return self.value((OptionalTensorList if optional else TensorList)(list(registers)))

    def tensor(
        self,
        *sizes: int,
        dtype: ScalarType = ScalarType.FLOAT,
        planned: bool = True,
        offset: int | None = None,
        memory_id: int = 1,
        dynamism: TensorShapeDynamism = STATIC,
        dim_order: Sequence[int] | None = None,
        name: str = "",
        data: int = 0,
    ) -> int:
        """A tensor in arena `memory_id`, behind all others unless `offset` says where."""
        table = Tensor(
            scalar_type=dtype,
            sizes=list(sizes),
            dim_order=bytes(range(len(sizes)) if dim_order is None else dim_order),
            shape_dynamism=dynamism,
            data_buffer_idx=data,
            extra_tensor_info=ExtraTensorInfo(fully_qualified_name=name) if name else None,
        )
        if planned:
            arenas = self.plan.non_const_buffer_sizes
            arenas += [0] * (memory_id + 1 - len(arenas))
            at = arenas[memory_id] if offset is None else offset
            table.allocation_info = AllocationDetails(memory_id, at & 0xFFFFFFFF, at >> 32)
            nbytes = int(np.prod(sizes)) * dtype.itemsize
            arenas[memory_id] = max(arenas[memory_id], -(-(at + nbytes) // 16) * 16)
        return self.value(table)

    def constant(self, array: Any, **options: Any) -> int:
        array = np.asarray(array)
        self.constant_offsets.append(len(self.constants))
        self.constants += array.tobytes()
        self.constants += bytes(-len(self.constants) % 16)
        return self.tensor(
            *array.shape,
            dtype=scalar_type_of(array.dtype),
            planned=False,
            data=len(self.constant_offsets) - 1,
            **options,
        )

    def state(self, array: Any, **options: Any) -> int:
        """A mutable buffer with an initial state."""
        array = np.asarray(array)
        self.state_offsets.append(len(self.states))
        self.states += array.tobytes()
        self.states += bytes(-len(self.states) % 16)
        return self.tensor(
            *array.shape, dtype=scalar_type_of(array.dtype), data=len(self.state_offsets) - 1, **options
        )

    def external(self, name: str, *sizes: int, planned: bool = False) -> int:
        register = self.tensor(*sizes, planned=planned, name=name)
        self[register].extra_tensor_info.location = TensorDataLocation.EXTERNAL
        return register

    def __getitem__(self, register: int) -> Any:
        return self.plan.values[register].val

    # Instructions

    @property
    def chain(self) -> Chain:
        return self.plan.chains[-1]

    def emit(self, arguments: Any, frames: Sequence[Frame] = ()) -> int:
        self.chain.instructions.append(Instruction(arguments))
        self.chain.stacktrace.append(FrameList(list(frames)))
        return len(self.chain.instructions) - 1

    def call(self, name: str, *args: int, frames: Sequence[Frame] = ()) -> int:
        base, _, overload = name.partition(".")
        operator = Operator(base, overload)
        if operator not in self.plan.operators:
            self.plan.operators.append(operator)
        return self.emit(KernelCall(self.plan.operators.index(operator), list(args)), frames)

    def add(self, a: int, b: int, out: int, **options: Any) -> int:
        return self.call("test::add.out", a, b, out, out, **options)

    def move(self, source: int, target: int) -> int:
        return self.emit(MoveCall(source, target))

    def jump_false(self, condition: int, target: int) -> int:
        return self.emit(JumpFalseCall(condition, target))

    def free(self, register: int) -> int:
        return self.emit(FreeCall(register))

    def delegate(self, backend: str, blob: bytes, *args: int, specs: Sequence[CompileSpec] = ()) -> int:
        self.blobs.append(blob)
        reference = BackendDelegateDataReference(index=len(self.blobs) - 1)
        self.plan.delegates.append(BackendDelegate(backend, reference, list(specs)))
        return self.emit(DelegateCall(len(self.plan.delegates) - 1, list(args)))

    # Results

    def inputs(self, *registers: int) -> None:
        self.plan.inputs = list(registers)

    def outputs(self, *registers: int) -> None:
        self.plan.outputs = list(registers)

    def program(self) -> Program:
        return Program(
            execution_plan=[self.plan],
            constant_segment=SubsegmentOffsets(0, self.constant_offsets),
            mutable_data_segments=[SubsegmentOffsets(1, self.state_offsets)],
            backend_delegate_data=[BackendDelegateInlineData(blob) for blob in self.blobs],
        )

    def segments(self) -> list[list[bytes]]:
        return [[bytes(self.constants)], [bytes(self.states)]]

    def file(self) -> bytes:
        return serialize_pte(self.program(), self.segments())


def combine(*builds: Build) -> bytes:
    """A file with several methods without constants."""
    program = builds[0].program()
    program.execution_plan = [build.plan for build in builds]
    return serialize_pte(program, builds[0].segments())


def chain_of_adds(length: int, width: int = 4) -> Build:
    """`out = x + x + ... + x` in two alternating buffers."""
    build = Build()
    x, a, b = (build.tensor(width) for _ in range(3))
    source = x
    for at in range(length):
        target = b if at % 2 else a
        build.add(x, source, target)
        source = target
    build.inputs(x)
    build.outputs(source)
    return build


# Kernels


def add_out(ctx: PrepareContext, self: values.Tensor, other: values.Tensor, out: values.Tensor) -> Step:
    ctx.check(other.sizes == self.sizes, arg="other", expected=f"shape {self.sizes}", got=other.sizes)
    ctx.check(other.dtype == self.dtype, arg="other", expected=self.dtype, got=other.dtype)
    ctx.check(out.dtype == self.dtype, arg="out", expected=self.dtype, got=out.dtype)
    out.resize(self.sizes)
    return np.add, (self.array, other.array, out.array)


def scale_out(ctx: PrepareContext, self: values.Tensor, factor: float, out: values.Tensor) -> Step:
    ctx.check(out.dtype == self.dtype, arg="out", expected=self.dtype, got=out.dtype)
    ctx.check(self.scalar_type.is_floating, arg="self", expected="floats", got=self.dtype)
    assert isinstance(factor, float)
    out.resize(self.sizes)
    return np.multiply, (self.array, out.dtype.type(factor), out.array)


def split_out(ctx: PrepareContext, self: values.Tensor, out: list[values.Tensor]) -> Step:
    ctx.check(bool(out), arg="out", expected="a tensor", got=out)
    ctx.check(bool(self.sizes), arg="self", expected="a dimension to split", got=self.sizes)
    piece = (self.sizes[0] // len(out), *self.sizes[1:])
    ctx.check(self.sizes[0] == piece[0] * len(out), arg="self", expected=f"{len(out)} parts", got=self.sizes)
    for target in out:
        ctx.check(target.dtype == self.dtype, arg="out", expected=self.dtype, got=target.dtype)
        ctx.check(target.sizes == piece, arg="out", expected=piece, got=target.sizes)

    def run() -> None:
        for piece, target in zip(np.split(self.array, len(out)), out, strict=True):
            np.copyto(target.array, piece)

    return run, ()


def reshape_out(ctx: PrepareContext, self: values.Tensor, size: list[int], out: values.Tensor) -> Step:
    ctx.check(out.dtype == self.dtype, arg="out", expected=self.dtype, got=out.dtype)
    fits = values.element_count(size) == self.numel and min(size, default=0) >= 0
    ctx.check(fits, arg="size", expected=f"a shape of {self.numel} elements", got=size)
    out.resize(size)
    return np.copyto, (out.array, self.array.reshape(size))


def increment_(ctx: PrepareContext, self: values.Tensor) -> Step:
    del ctx
    return np.add, (self.array, self.dtype.type(1), self.array)


def nonzero_out(ctx: PrepareContext, self: values.Tensor, out: values.Tensor) -> Step:
    ctx.check(out.dtype == np.dtype(np.int64), arg="out", expected="int64", got=out.dtype)

    def run() -> None:
        found = np.argwhere(self.array)
        out.resize(found.shape)
        np.copyto(out.array, found)

    return run, ()


def fail_out(ctx: PrepareContext, self: values.Tensor, out: values.Tensor) -> Step:
    del ctx, self, out

    def run() -> None:
        raise IndexError("no such row")

    return run, ()


def greater_out(ctx: PrepareContext, self: values.Tensor, other: float, out: values.Tensor) -> Step:
    ctx.check(out.dtype == np.dtype(bool), arg="out", expected="bool", got=out.dtype)
    out.resize(self.sizes)
    return np.greater, (self.array, other, out.array)


KERNELS = {
    "test::add.out": add_out,
    "test::scale.out": scale_out,
    "test::split.out": split_out,
    "test::reshape.out": reshape_out,
    "test::increment_": increment_,
    "test::nonzero.out": nonzero_out,
    "test::fail.out": fail_out,
    "test::greater.out": greater_out,
}


def kernels(registry: KernelRegistry | None = None) -> KernelRegistry:
    """A registry with these kernels, or `registry` with them as well."""
    registry = registry or KernelRegistry()
    for name, prepare in KERNELS.items():
        registry.register(name, prepare)
    return registry


def load(build: Build, **options: Any) -> Method:
    """The method of `build`, with `kernels` unless `options` say otherwise."""
    program = LoadedProgram.load(build.file())
    return program.load_method(build.plan.name, kernels=options.pop("kernels", kernels()), **options)


def f32(*items: float) -> Any:
    return np.array(items, np.float32)
