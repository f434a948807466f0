"""Kernel calls: giving the kernel its arguments, and preparing the step, once or whenever shapes change."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any, cast

from et_schema.errors import Error, ExecutorchError
from et_schema.program import TensorShapeDynamism
from et_vm.kernels.prims import kind_of
from et_vm.step import NOTHING
from et_vm.values import ListRegister, Tensor
from et_vm.work import CALL, elements_of, work_of

if TYPE_CHECKING:
    from et_vm.kernels.registry import Param, Prepare, PrepareContext
    from et_vm.load.instructions import Instruction
    from et_vm.step import Step


class LinkedCall:
    """One kernel call: its kernel, and how its arguments come from registers.

    `prepare_now` builds the step from the current values. Raises Trap for arguments the kernel does not
    take. `written` are the registers of the outputs.
    """

    __slots__ = (
        "_repeated",
        "context",
        "instruction",
        "params",
        "prepare",
        "registers",
        "schema_args",
        "work",
        "written",
    )

    def __init__(
        self,
        instruction: Instruction,
        prepare: Prepare,
        params: Sequence[Param] | None,
        registers: list[object],
        context: PrepareContext,
        written: Sequence[int] = (),
    ) -> None:
        self.instruction = instruction
        self.prepare = prepare
        self.params = params
        self.registers = registers
        self.context = context
        # The last argument repeats the outputs.
        self.schema_args = instruction.args[:-1]
        self.written = written
        self.work = 0
        """Units of work of the step that was prepared last, where work is limited."""
        self._repeated: Sequence[int] = ()
        if len(set(self.schema_args)) < len(self.schema_args):
            self._repeated = [register for register, uses in Counter(self.schema_args).items() if uses > 1]
        """Registers that are several arguments at once: read, and written over."""

    @property
    def is_ours(self) -> bool:
        """Whether the kernel is one of those that come with the VM."""
        return str(getattr(self.prepare, "__module__", "")).startswith("et_vm.kernels.")

    def arguments(self) -> list[object]:
        """The current values of the arguments in the types that the kernel declares."""
        values: list[object] = []
        for at, register in enumerate(self.schema_args):
            value: Any = self.registers[register]
            param = self.params[at] if self.params is not None else None
            if isinstance(value, ListRegister):
                value = self._read_list(value, at, param)
            elif param is not None and param.kinds:
                kind = kind_of(value)
                if kind not in param.kinds and value != []:
                    raise self._wrong_type(at, param, kind)
                if param.is_float and type(value) is int:
                    value = float(value)
            values.append(value)
        return values

    def _read_list(self, value: ListRegister, at: int, param: Param | None) -> list[object]:
        if param is not None and param.kinds and value.items and value.kind not in param.kinds:
            raise self._wrong_type(at, param, value.kind)
        items = value.read(self.registers)
        wanted = {"IntList": ("Int",), "TensorList": ("Tensor",)}.get(value.kind, ("Tensor", "Null"))
        for item in items:
            if kind_of(item) not in wanted:
                name = param.name if param is not None else str(at)
                raise self.context.trap(
                    arg=name, expected=f"items of type {wanted[0]}", got=kind_of(item), code=Error.InvalidType
                )
        return items

    def _wrong_type(self, at: int, param: Param, kind: str) -> ExecutorchError:
        return self.context.trap(
            arg=param.name, expected=" or ".join(sorted(param.kinds)), got=kind, code=Error.InvalidType
        )

    def prepare_now(self) -> Step:
        """Check the arguments, resize the outputs and bind a step to both."""
        self.context.restart()
        for register in self.written:
            value = self.registers[register]
            if isinstance(value, Tensor) and value.storage is not None and not value.storage.flags.writeable:
                raise self.context.error(f"value {register} aliases a constant and cannot be written")
        before = [
            (value, value.sizes)
            for register in self._repeated
            if isinstance(value := self.registers[register], Tensor)
        ]
        step = self.prepare(self.context, *self.arguments())
        for value, sizes in before:
            # The step is bound to what the argument was before the output got its shape.
            if value.sizes != sizes:
                raise self.context.trap(
                    arg="out",
                    expected=f"a separate tensor, or the shape {list(sizes)} that it has as an argument",
                    got=list(value.sizes),
                )
        meter = self.context.meter
        self.work = 0
        if meter is None or step is NOTHING:
            return step
        arguments = elements_of(self.arguments())
        self.work = self.context.declared_work + max(work_of(step), CALL + arguments)
        return meter.metered(step, self.work)


class DynamicCall:
    """A call whose arguments change between executions: prepared again when a shape, a binding or a scalar
    is not what it was.

    A loop gives it the same few numbers in every execution, so that steps are kept while sizes stay what they are.
    """

    __slots__ = ("_call", "_kept", "_key", "_step", "_versions")

    _MOST = 64
    """Maximum number of cached steps."""

    def __init__(self, call: LinkedCall) -> None:
        self._call = call
        self._key: list[object] | None = None
        """Of the arguments that the step is prepared for; `None` when there is no such step."""
        self._step: Step = NOTHING
        self._kept: dict[tuple[object, ...], Step] = {}
        self._versions: list[int] = []
        """Of the tensors that all kept steps are bound to."""

    def run(self) -> None:
        """Prepare if needed, and execute."""
        key = self._current_key()
        if key != self._key:
            kept = self._kept.get(tuple(key))
            if kept is None:
                self._prepare()
            else:
                self._step, self._key = kept, key
        function, arguments = self._step
        function(*arguments)

    def _prepare(self) -> None:
        # A call that traps must not leave the step of another shape behind.
        self._key = None
        self._step = step = self._call.prepare_now()
        self._key = key = self._current_key()
        if not self._call.is_ours:
            return  # The user's may make a step for one time only.
        versions = [part for part in key if type(part) is int]
        if versions != self._versions or len(self._kept) >= self._MOST:
            # Steps that nothing will run again would hold on to memory.
            self._kept.clear()
            self._versions = versions
        self._kept[tuple(key)] = step

    @property
    def settled(self) -> Step | None:
        """The step for what the arguments are now; `None` if there is none, or a kernel of the user's made it, which
        may do anything.
        """
        return self._step if self._key is not None and self._call.is_ours else None

    def _current_key(self) -> list[object]:
        registers = self._call.registers
        key: list[object] = []
        for register in self._call.schema_args:
            value = registers[register]
            if isinstance(value, ListRegister):
                for item in value.read(registers):
                    _extend_key(key, item)
            else:
                _extend_key(key, value)
        return key


def _extend_key(key: list[object], value: object) -> None:
    if isinstance(value, Tensor):
        key.append(value.version)
    elif isinstance(value, float):
        # -0.0 equals 0.0, and 1.0 equals 1, but a kernel may tell them apart.
        key.append((value, math.copysign(1.0, value)))
    else:
        key.append((type(value), tuple(cast("list[object]", value)) if isinstance(value, list) else value))


def is_volatile(register: int, registers: Sequence[object], rebound: Set[int]) -> bool:
    """Whether what a kernel would bind for this register can change while the method is loaded."""
    if register in rebound:
        return True
    value = registers[register]
    if isinstance(value, Tensor):
        return value.dynamism != TensorShapeDynamism.STATIC
    if isinstance(value, ListRegister):
        return any(item >= 0 and is_volatile(item, registers, rebound) for item in value.items)
    return False


def dynamic_call(step: Step) -> DynamicCall | None:
    """The call of a step that looks at its arguments before it runs."""
    owner = cast(object, getattr(step[0], "__self__", None))
    return owner if isinstance(owner, DynamicCall) else None


def with_items(arguments: Sequence[int], registers: Sequence[object]) -> set[int]:
    """The registers `arguments`, and those that are items of lists among them."""
    found = set(arguments)
    for register in arguments:
        value = registers[register]
        if isinstance(value, ListRegister):
            found.update(item for item in value.items if item >= 0)
    return found
