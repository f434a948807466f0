"""The kernel contract: how a kernel is written, registered and found.

A kernel is a *prepare function*. The method calls it when it is loaded (and again only when shapes or
scalars have changed) with the arguments of the operator's out variant in schema order; it checks them,
resizes the outputs and returns a `Step` (`et_vm.step`), which is all that execution runs::

    def add_out(ctx: PrepareContext, self: Tensor, other: Tensor, alpha: int | float, out: Tensor) -> Step:
        out.resize(broadcast(ctx, self, other))
        return np.add, (self.array, other.array, out.array)

Arguments: `Tensor`; Python `int`, `float`, `bool`, `str`; `list[int]`, `list[float]`,
`list[bool]`, `list[Tensor]`, `list[Tensor | None]`; `None` where the schema allows it. The trailing
arguments by which ExecuTorch repeats the returned tensors are not passed. The annotations are not
decoration: together with the number of parameters they are the operator's schema to the verifier, which
rejects a file whose call does not fit them.

Rules: nothing is written to an output, and nothing is resized, before every check has passed. A prepare
function reads shapes and constants but never the data of other tensors, and asks `Tensor.constant` before it
reads that of one; a step whose output shape depends on data resizes the output itself, in a function that is
marked `resizing`. A prepare function may run more than once for a call, and once for many that are alike
(`et_vm.run.alike`); what is expensive (a repacked weight) goes through `PrepareContext.memo`, and nothing writes
to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from et_schema.errors import Error, ExecutorchError, Trap
from et_schema.wording import in_words
from et_vm.step import Step
from et_vm.values import array_bytes
from et_vm.work import CALL

if TYPE_CHECKING:
    from et_schema.program import Frame
    from et_schema.scalar_type import ScalarType
    from et_vm.platform import Platform
    from et_vm.values import Array
    from et_vm.work import WorkMeter

Prepare: TypeAlias = Callable[..., Step]
"""`prepare(ctx, *arguments) -> Step`."""

KernelKey: TypeAlias = "tuple[tuple[ScalarType, tuple[int, ...]], ...]"
"""Scalar type and dim order of each argument that is a Tensor, in order (members of lists and None do not
count).
"""

KernelLibrary: TypeAlias = "Callable[[KernelRegistry], None]"
"""Fills a registry with the kernels of one library."""

_T = TypeVar("_T")


SCRATCH_ALIGNMENT = 64
MOST_SCRATCH = 2**62
STEP_BYTES = 512
"""Upper bound of the memory of a step and the views that are its arguments, in bytes."""


def _aligned(nbytes: int) -> Array:
    raw = np.empty(nbytes + SCRATCH_ALIGNMENT, np.uint8)
    skip = -raw.ctypes.data % SCRATCH_ALIGNMENT
    return raw[skip : skip + nbytes]


class Scratch:
    """Working memory that the steps of one method share: as large as the largest call needs.

    Nothing survives from one step to the next. A buffer that has to grow is replaced; steps prepared before
    keep the old one until the method prepares them again, which it does at the end of loading (see
    `generation`).
    """

    __slots__ = ("_allocate", "_buffer", "_used", "generation")

    def __init__(self, allocate: Callable[[int], Array] | None = None) -> None:
        """`allocate(nbytes)` returns aligned bytes, a flat uint8 array."""
        self._allocate = allocate
        self._buffer: Array = np.empty(0, np.uint8)
        self._used = 0
        self.generation = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the shared buffer."""
        return self._buffer.nbytes

    @property
    def buffer(self) -> Array:
        """The shared buffer: what was handed out last starts with its first byte."""
        return self._buffer

    @property
    def used(self) -> int:
        """Bytes handed out since `restart`."""
        return self._used

    def reserve(self, nbytes: int) -> Array:
        """The shared buffer, with at least `nbytes`."""
        if nbytes > self._buffer.nbytes:
            self.restart()
            self.take(nbytes)
        return self._buffer

    def restart(self) -> None:
        """Begin the allocations of another step."""
        self._used = 0

    def take(self, nbytes: int) -> Array:
        """`nbytes` uninitialised bytes, 64-byte aligned, disjoint from the others taken since
        `restart`.
        """
        start = self._used
        end = start + nbytes
        self._used = -(-end // SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT
        if end > self._buffer.nbytes:
            if end > MOST_SCRATCH:
                # What numpy says of it is no MemoryError.
                raise MemoryError(f"{end} bytes of working memory")
            self._buffer = (self._allocate or _aligned)(self._used)
            self.generation += 1
        return self._buffer[start:end]


class PrepareContext:
    """Context of a prepare function.

    Tests of a kernel make their own: `PrepareContext("aten::add.out")`.
    """

    __slots__ = (
        "_memo",
        "_memo_key",
        "_platform",
        "_scratch",
        "declared_work",
        "derived",
        "frames",
        "held",
        "instruction",
        "meter",
        "op",
    )

    declared_work: int
    """Work reported by kernels since `restart`."""

    def __init__(
        self,
        op: str,
        *,
        instruction: int = 0,
        frames: Sequence[Frame] = (),
        scratch: Scratch | None = None,
        memo: dict[object, object] | None = None,
        memo_key: int = 0,
        platform: Platform | None = None,
        meter: WorkMeter | None = None,
    ) -> None:
        """`platform` counts the data that `memo` keeps, `meter` the work of an execution, where these are
        limited.
        """
        self.op = op
        self.instruction = instruction
        self.frames = frames
        self._scratch = Scratch() if scratch is None else scratch
        self._memo: dict[object, object] = {} if memo is None else memo
        self._memo_key = memo_key
        self._platform = platform
        self.meter = meter
        self.declared_work = 0
        self.held: list[object] = []
        """Reservations for what the steps keep."""
        self.derived: list[tuple[object, object]] = []
        """What `memo` has returned since `restart`, with the keys that it is kept by."""
        self._scratch.restart()

    def restart(self) -> None:
        """Begin preparing the call again; scratch taken before may be handed out anew."""
        self.declared_work = 0
        self.held = []
        self.derived = []
        self._scratch.restart()

    def work(self, units: int) -> None:
        """Say that the step does so much beside visiting each of its arrays once: multiply-adds, or visits of elements.
        Needed where a function of the step does it, and not a list of numpy's calls.
        """
        self.declared_work += units

    def spend(self, units: int) -> None:
        """Count work that only data tells, when the step runs, before it is done.

        Raises ExecutorchError(OutOfResources) when the limit would be passed.
        """
        if self.meter is not None:
            self.meter.spend(units)

    def hold(self, nbytes: int = 0, calls: int = 0) -> None:
        """Count what steps keep beside scratch and `memo`, such as arrays that are made of shapes, and steps of so many
        calls, before they are made.

        Raises OutOfMemory or ExecutorchError(OutOfResources) when a limit would be passed.
        """
        self.spend(calls * CALL)
        if self._platform is not None:
            self.held.append(self._platform.reserve(nbytes + calls * STEP_BYTES))

    def scratch(self, shape: int | Sequence[int], dtype: object = np.uint8) -> Array:
        """An uninitialised C-contiguous array that the step may write; shared with the other steps of the
        method.

        Buffers taken by one call of the prepare function do not overlap. Contents do not survive until the
        next step.
        """
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        count = 1
        for size in sizes:
            count *= size
        kind: np.dtype[Any] = np.dtype(dtype)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
        return np.ndarray(sizes, kind, self._scratch.take(count * kind.itemsize))

    def memo(self, key: object, build: Callable[[], _T], nbytes: int = 0) -> _T:
        """`build()`, kept for this call as long as the method lives: for data derived from constants,
        such as packed weights. What takes more than its constant says so in `nbytes`, which is counted before.

        Raises OutOfMemory when the limit would be passed.
        """
        slot = (self._memo_key, key)
        if slot not in self._memo:
            bound = None if self._platform is None else self._platform.reserve(nbytes)
            made = build()
            del bound
            if self._platform is not None and self._platform.memory_limit is not None:
                self._memo[slot, "reserved"] = self._platform.reserve(array_bytes(made))
            self._memo[slot] = made
        self.derived.append((slot, self._memo[slot]))
        return self._memo[slot]  # pyright: ignore[reportReturnType] the slot was filled by a build() of this call

    def trap(
        self,
        *,
        arg: str,
        expected: object,
        got: object,
        code: Error = Error.InvalidArgument,
        hint: str | None = None,
    ) -> Trap:
        """The error for an argument that the kernel cannot take; the prepare function or the step raises
        it.
        """
        return self.error(f"argument '{arg}': expected {expected}, got {got}", code=code, hint=hint)

    def error(self, message: str, *, code: Error = Error.InvalidArgument, hint: str | None = None) -> Trap:
        """The error for a call that fails for a reason no single argument carries."""
        return Trap(
            message, code=code, instruction=self.instruction, operator=self.op, frames=self.frames, hint=hint
        )

    def check(self, condition: bool, *, arg: str, expected: object, got: object) -> None:
        """Raise `trap` unless `condition`."""
        if not condition:
            raise self.trap(arg=arg, expected=expected, got=got)


class Param(NamedTuple):
    """One parameter of an operator: its name, and the value kinds it takes (empty: not stated)."""

    name: str
    kinds: frozenset[str]
    is_float: bool


ANNOTATION_KINDS: dict[str, tuple[str, ...]] = {
    "None": ("Null",),
    "Tensor": ("Tensor",),
    "int": ("Int",),
    "float": ("Double", "Int"),
    "bool": ("Bool",),
    "str": ("String",),
    "Scalar": ("Int", "Double", "Bool"),
    "list[int]": ("IntList",),
    "list[float]": ("DoubleList",),
    "list[bool]": ("BoolList",),
    "list[Tensor]": ("TensorList",),
    "list[Tensor | None]": ("TensorList", "OptionalTensorList"),
    "list[Tensor|None]": ("TensorList", "OptionalTensorList"),
}
"""The value kinds that a parameter takes, by what it is annotated with."""


_QUALIFIER = re.compile(r"\w+\.")


def _split_union(annotation: str) -> list[str]:
    parts: list[str] = []
    depth = start = 0
    for at, char in enumerate(annotation):
        if char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
        elif char == "|" and not depth:
            parts.append(annotation[start:at].strip())
            start = at + 1
    parts.append(annotation[start:].strip())
    return parts


@cache
def parse_annotation(annotation: object) -> tuple[frozenset[str], bool]:
    """The value kinds that a parameter of an annotation takes, none for an unknown one; whether it is a float."""
    if isinstance(annotation, type):
        annotation = annotation.__name__
    parts = _split_union(_QUALIFIER.sub("", str(annotation)))
    if any(part not in ANNOTATION_KINDS for part in parts):
        return frozenset(), False
    kinds = {kind for part in parts for kind in ANNOTATION_KINDS[part]}
    if "int" in parts and "float" in parts:
        kinds.add("Bool")
    return frozenset(kinds), "float" in parts and "int" not in parts


def parameters_of(prepare: Prepare) -> tuple[Param, ...] | None:
    """The parameters after `ctx` as the function's own signature states them, or its attribute
    `parameters`; None when it takes `*args` and has no such attribute.

    A parameter annotated `float` takes an Int too (as the upstream runtime does), and `is_float` says
    that it wants it converted; `int | float` is a torch Scalar and takes a Bool as well.
    """
    stated: tuple[Param, ...] | None = getattr(prepare, "parameters", None)
    if stated is not None:
        return stated
    code = getattr(prepare, "__code__", None)
    if code is None or code.co_flags & 0x04:  # CO_VARARGS
        return None
    annotations: dict[str, object] = getattr(prepare, "__annotations__", {})
    names: Iterable[str] = code.co_varnames[1 : code.co_argcount]
    return tuple(Param(name, *parse_annotation(annotations.get(name, ""))) for name in names)


def _packet(name: str) -> str:
    return name.partition(".")[0]


class KernelRegistry:
    """The kernels one runtime has, by operator name (`aten::add.out`) and by kernel key.

    An instance, never a global: two runtimes in a process may have different kernels. Filling it is not
    thread-safe; looking up is.
    """

    __slots__ = ("_fallback", "_families", "_keyed", "_lazy", "compiled", "finders", "guard", "origins")

    compiled: bool
    """Whether a kernel is a compiled function, one call of which takes less time than the calls of numpy that would do
    the same."""

    guard: Callable[[], AbstractContextManager[object]]
    """Makes the context in which each execution's steps run: what a library would otherwise enter in every
    step (torch's inference mode)."""

    finders: list[Callable[[str], Prepare | None]]
    """Asked, in order, for the kernel of an operator that has none; what they find is kept."""

    origins: dict[str, str]
    """Source places of user kernels, for messages."""

    def __init__(self, libraries: Iterable[KernelLibrary] = ()) -> None:
        self.compiled = False
        self.guard = nullcontext
        self.finders = []
        self.origins = {}
        self._fallback: dict[str, Prepare] = {}
        self._keyed: dict[str, dict[KernelKey, Prepare]] = {}
        self._lazy: dict[str, Callable[[], Prepare]] = {}
        self._families: dict[str, Callable[[], Mapping[str, Prepare]]] = {}
        for library in libraries:
            library(self)

    def register(
        self, name: str, prepare: Prepare, key: KernelKey | None = None, *, replace: bool = False
    ) -> None:
        """Add a kernel for `name`, for one `key` or as the fallback for all; with `replace`, in the place of
        one that is there.

        Raises ExecutorchError(RegistrationAlreadyRegistered) when there is one already.
        """
        if key is None:
            if not replace and self._has_fallback(name):
                raise self._twice(name)
            self._fallback[name] = prepare
            return
        keyed = self._keyed.setdefault(name, {})
        if key in keyed and not replace:
            raise self._twice(name)
        keyed[key] = prepare

    def register_lazy(self, name: str, load: Callable[[], Prepare]) -> None:
        """Add a fallback kernel that `load` imports when it is first looked up."""
        if self._has_fallback(name):
            raise self._twice(name)
        self._lazy[name] = load

    def register_family(self, packets: Iterable[str], load: Callable[[], Mapping[str, Prepare]]) -> None:
        """Add fallback kernels of operators whose names without overloads are `packets` (`aten::add`). `load`
        imports them when the first is looked up, and returns kernels by full names, others among them.
        """
        for packet in packets:
            self._families[packet] = load

    def lookup(self, name: str, key: KernelKey) -> Prepare | None:
        """The kernel for exactly `key`, else the fallback, else what a finder has, else None.

        Raises what finders raise.
        """
        keyed = self._keyed.get(name)
        if keyed is not None and key in keyed:
            return keyed[key]
        return self.registered(name) or self._found(name)

    def registered(self, name: str) -> Prepare | None:
        """The fallback that is registered, None where there is none."""
        prepare = self._fallback.get(name)
        if prepare is None:
            load = self._lazy.get(name)
            prepare = self._of_family(name) if load is None else load()
            if prepare is not None:
                self._fallback[name] = prepare
        return prepare

    def _of_family(self, name: str) -> Prepare | None:
        load = self._families.get(_packet(name))
        return None if load is None else load().get(name)

    def _has_fallback(self, name: str) -> bool:
        return name in self._fallback or name in self._lazy or self._of_family(name) is not None

    def _found(self, name: str) -> Prepare | None:
        for find in self.finders:
            prepare = find(name)
            if prepare is not None:
                return self._fallback.setdefault(name, prepare)
        return None

    def is_keyed(self, name: str) -> bool:
        """Whether some kernel of `name` is for one key only, so that `lookup` looks at the key."""
        return name in self._keyed

    def __repr__(self) -> str:
        # Overloads are one operator here: to tell which a family has would import it.
        named = {
            _packet(name) for name in (*self._fallback, *self._lazy, *self._keyed)
        } | self._families.keys()
        return f"<{type(self).__name__}: {in_words(len(named), 'operator')}>"

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        return name in self._keyed or self._has_fallback(name) or self._found(name) is not None

    def names(self) -> list[str]:
        """The operators that have a kernel, sorted, without those that finders have. Imports every family."""
        loaded = {name for load in set(self._families.values()) for name in load()}
        of_families = (name for name in loaded if _packet(name) in self._families)
        return sorted({*self._fallback, *self._lazy, *self._keyed, *of_families})

    @staticmethod
    def _twice(name: str) -> ExecutorchError:
        return ExecutorchError(
            Error.RegistrationAlreadyRegistered, "a kernel is registered already", where=name
        )
