"""Method metadata of a program, read without loading the methods.

Method names are those of upstream's Python bindings.
"""

from __future__ import annotations

from collections.abc import Sequence

from et_schema.errors import Error, ExecutorchError
from et_schema.html_table import html_table
from et_schema.program import ExecutionPlan, Tensor, TensorShapeDynamism
from et_schema.scalar_type import ScalarType
from et_schema.wording import in_words
from et_vm.verify.plan import tensor_bytes


class TensorInfo:
    """Type, shape and layout of a tensor; for a dynamic one the shape is its upper bound."""

    __slots__ = ("_name", "_table")

    def __init__(self, table: Tensor, name: str) -> None:
        self._table = table
        self._name = name

    def sizes(self) -> tuple[int, ...]:
        """Shape, in elements by logical dimension."""
        return tuple(self._table.sizes)

    def dim_order(self) -> tuple[int, ...]:
        """Dimensions from outermost to innermost in memory."""
        return tuple(self._table.dim_order)

    def dtype(self) -> ScalarType:
        """Element type."""
        return self._table.scalar_type

    def is_memory_planned(self) -> bool:
        """Whether the tensor has a place in an arena (or in the file)."""
        return self._table.allocation_info is not None or self._table.data_buffer_idx > 0

    def is_dynamic(self) -> bool:
        """Whether the shape may change from call to call."""
        return self._table.shape_dynamism != 0

    def is_bounded(self) -> bool:
        """Whether the shape says how large the tensor can get; else memory is found for it while the method runs."""
        return self._table.shape_dynamism != TensorShapeDynamism.DYNAMIC_UNBOUND

    def nbytes(self) -> int:
        """Bytes of the tensor at its largest."""
        return tensor_bytes(self._table)

    def name(self) -> str:
        """Name of an input, module path of a buffer or parameter; empty where the file has none."""
        return self._name

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.sizes()))
        return f"TensorInfo({self._name + ': ' if self._name else ''}{self.dtype().torch_name}[{shape}])"


class MethodMeta:
    """Inputs, outputs, attributes and memory of one method."""

    __slots__ = ("_attribute_registers", "_attributes", "_input_names", "_plan")

    def __init__(self, plan: ExecutionPlan, input_names: Sequence[str] = ()) -> None:
        """`input_names` are the file's names of the inputs, if it has any."""
        self._plan = plan
        self._input_names = dict(zip(plan.inputs, input_names, strict=True)) if input_names else {}
        self._attributes: list[TensorInfo] = []
        self._attribute_registers: dict[str, int] = {}
        for register, value in enumerate(plan.values):
            table = value.val
            if isinstance(table, Tensor) and table.extra_tensor_info is not None:
                name = table.extra_tensor_info.fully_qualified_name
                if name and table.allocation_info is not None:
                    self._attributes.append(TensorInfo(table, name))
                    self._attribute_registers[name] = register

    def name(self) -> str:
        """Name of the method."""
        return self._plan.name

    def num_inputs(self) -> int:
        """Number of inputs, tensors or not."""
        return len(self._plan.inputs)

    def num_outputs(self) -> int:
        """Number of outputs, tensors or not."""
        return len(self._plan.outputs)

    def num_attributes(self) -> int:
        """Number of named mutable buffers."""
        return len(self._attributes)

    def num_instructions(self) -> int:
        """Instructions of all chains."""
        return sum(len(chain.instructions) for chain in self._plan.chains)

    def input_tag(self, index: int) -> str:
        """Type of an input: `Tensor`, `Int`, `Double`, `Bool`, `String` or `Null`."""
        return type(self._value(self._plan.inputs, index, "input")).__name__

    def output_tag(self, index: int) -> str:
        """Type of an output as the file states it."""
        return type(self._value(self._plan.outputs, index, "output")).__name__

    def input_value(self, index: int) -> int | float | bool | str | None:
        """The value that an input that is no tensor was exported with, and must be given."""
        table = self._value(self._plan.inputs, index, "input")
        for field in ("int_val", "double_val", "bool_val", "string_val"):
            if hasattr(table, field):
                return getattr(table, field)
        return None

    def input_tensor_meta(self, index: int) -> TensorInfo:
        """Of an input. Raises ExecutorchError(InvalidArgument) when it does not exist or is no tensor."""
        return self._tensor(self._plan.inputs, index, "input")

    def input_name(self, index: int) -> str:
        """Name of an input, empty where the file has none. Raises ExecutorchError(InvalidArgument) when it does not
        exist.
        """
        self._value(self._plan.inputs, index, "input")
        return self._input_names.get(self._plan.inputs[index], "")

    def output_tensor_meta(self, index: int) -> TensorInfo:
        """Of an output. Raises ExecutorchError(InvalidArgument) when it does not exist or is no tensor."""
        return self._tensor(self._plan.outputs, index, "output")

    def attribute_tensor_meta(self, index: int) -> TensorInfo:
        """Of a named mutable buffer. Raises ExecutorchError(InvalidArgument) when it does not exist."""
        if not 0 <= index < len(self._attributes):
            raise self._no_such("attribute", index, len(self._attributes))
        return self._attributes[index]

    def attribute_register(self, name: str) -> int:
        """The register that holds a named mutable buffer. Raises ExecutorchError(InvalidArgument) when there is none of
        that name.
        """
        register = self._attribute_registers.get(name)
        if register is None:
            raise ExecutorchError(
                Error.InvalidArgument,
                f"no buffer named {name!r}",
                where=self.name(),
                hint=f"the buffers are {', '.join(self._attribute_registers) or 'none'}",
            )
        return register

    def memory_planned_buffer_sizes(self) -> dict[int, int]:
        """Bytes of each arena the method needs, by memory id."""
        return dict(enumerate(self._plan.non_const_buffer_sizes[1:], 1))

    def backends(self) -> list[str]:
        """Ids of the backends the method delegates to, sorted."""
        return sorted({delegate.id for delegate in self._plan.delegates})

    def uses_backend(self, backend_id: str) -> bool:
        """Whether the method delegates to `backend_id`."""
        return any(delegate.id == backend_id for delegate in self._plan.delegates)

    def signature(self) -> str:
        """Names and types in one line: `forward(x: float32[2, 4]) -> (float32[2, 3])`."""
        inputs, outputs = (
            ", ".join(self._type(register) for register in registers)
            for registers in (self._plan.inputs, self._plan.outputs)
        )
        return f"{self.name()}({inputs}) -> ({outputs})"

    def _type(self, register: int) -> str:
        table = self._plan.values[register].val
        name = self._input_names.get(register)
        prefix = f"{name}: " if name else ""
        if not isinstance(table, Tensor):
            return f"{prefix}{type(table).__name__}"
        return f"{prefix}{table.scalar_type.torch_name}[{', '.join(map(str, table.sizes))}]"

    def _value(self, registers: list[int], index: int, what: str) -> object:
        if not 0 <= index < len(registers):
            raise self._no_such(what, index, len(registers))
        return self._plan.values[registers[index]].val

    def _tensor(self, registers: list[int], index: int, what: str) -> TensorInfo:
        table = self._value(registers, index, what)
        if not isinstance(table, Tensor):
            raise ExecutorchError(
                Error.InvalidArgument,
                f"{what} {index} is a {type(table).__name__}, not a Tensor",
                where=self._plan.name,
            )
        return TensorInfo(table, self._name(registers[index], table))

    def _name(self, register: int, table: Tensor) -> str:
        extra = table.extra_tensor_info
        return self._input_names.get(register) or ("" if extra is None else extra.fully_qualified_name)

    def _no_such(self, what: str, index: int, count: int) -> ExecutorchError:
        return ExecutorchError(
            Error.InvalidArgument, f"no {what} {index}: the method has {count}", where=self._plan.name
        )

    def html(self) -> str:
        """A table of inputs, outputs, buffers and arenas, for notebooks."""
        slots = [
            *((f"input {at}", self._plan.inputs[at]) for at in range(self.num_inputs())),
            *((f"output {at}", self._plan.outputs[at]) for at in range(self.num_outputs())),
            *(("buffer", register) for register in self._attribute_registers.values()),
        ]
        rows: list[tuple[str, str, str]] = []
        for label, register in slots:
            table = self._plan.values[register].val
            if isinstance(table, Tensor):
                info = TensorInfo(table, self._name(register, table))
                shape = ", ".join(map(str, info.sizes()))
                rows.append(
                    (
                        f"{label} {info.name()}".strip(),
                        f"{info.dtype().torch_name} [{shape}]",
                        f"{info.nbytes():,}",
                    )
                )
            else:
                rows.append((label, type(table).__name__, ""))
        rows += [(f"arena {at}", "", f"{size:,}") for at, size in self.memory_planned_buffer_sizes().items()]
        return html_table(
            ("", "type", "bytes"), rows, f"{self.name()}: {self.num_instructions():,} instructions"
        )

    def _repr_html_(self) -> str:
        return self.html()

    def __repr__(self) -> str:
        counts = in_words(self.num_inputs(), "input"), in_words(self.num_outputs(), "output")
        return f"MethodMeta({self.name()}: {', '.join(counts)})"
