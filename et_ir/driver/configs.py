"""Configurations of lowering, under upstream's names.

`et-compile` makes them of its options, users of `to_edge` and `to_executorch` write them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from et_ir.driver.executorch_options import backend_options, takes_executorch_options
from et_ir.driver.method_passes import MethodPasses, UserPass
from et_ir.driver.observer import Observer
from et_ir.driver.presets import DEFAULT
from et_ir.targets.lookup import DEFAULT as DEFAULT_TARGET
from et_schema.segments import check_alignment

if TYPE_CHECKING:
    from torch._ops import OpOverload

__all__ = ["EdgeCompileConfig", "ExecutorchBackendConfig", "operator_name"]


def operator_name(operator: str | OpOverload) -> str:
    """The name of an operator as passes take it: `linear`, `add.Tensor`, `mylib::foo`."""
    name = operator if isinstance(operator, str) else operator.name()
    return name.removeprefix("aten.").removesuffix(".default")


Unbounded: TypeAlias = Literal["error", "runtime"]


@takes_executorch_options()
@dataclass(frozen=True)
class EdgeCompileConfig:
    """Options of the lowering to the edge level."""

    _check_ir_validity: bool = True
    """Whether to check the edge level's contract. What breaks it fails later, with a less telling message."""
    _core_aten_ops_exception_list: Sequence[str | OpOverload] = ()
    """Operators that may stay though they are not Core ATen, where nothing decomposes them."""
    transform_passes: MethodPasses = ()
    """Passes of the user's own, run on the edge module before it is checked; or by the method that they are for."""
    preserve_ops: Sequence[str | OpOverload] = ()
    """Operators to keep though they are not Core ATen, such as `linear`: the target must have kernels for them. Of a
    library of your own, `mylib::foo`, one that would be compiled as what it calls because it has no out variant.
    """
    unroll: int | None = None
    """Recurrent layers of at most so many steps are unrolled, of 8 unless it is given; longer ones become loops. A
    backend without loops is called for each step: unrolled layers compile slowly, and run faster there.
    """
    dequantize_weights: bool = False
    """Whether quantized weights become floats at compile time. The file is up to four times as large, and nothing is
    restored while the program runs. Otherwise they stay what they are.
    """
    quantized_io: bool = False
    """Whether inputs that are quantized first, and outputs that are restored last, become integers; constant methods
    (`forward_input0_scale`, `…_zp`) say what they stand for.
    """
    default_bounds: Mapping[str, int] = field(default_factory=dict[str, int])
    """The largest values of sizes that export knows no bound of, by export's symbol (`s77`) or by input and dimension
    (`x.0`). Memory is planned for them.
    """
    level: str = DEFAULT
    """Optimization level, as `et-compile -O`: `0`, `1`, `2` or `s`."""
    observer: Observer | None = field(default=None, repr=False, compare=False)
    """Told of each pass that runs and each level that is reached."""

    @property
    def preserve_names(self) -> tuple[str, ...]:
        """The names of the operators to keep, as passes take them: `linear`, `add.Tensor`, `mylib::foo`."""
        return tuple(operator_name(op) for op in self.preserve_ops)

    @property
    def exception_names(self) -> tuple[str, ...]:
        """The names of the operators that may stay."""
        return tuple(operator_name(op) for op in self._core_aten_ops_exception_list)


@takes_executorch_options(backend_options)
@dataclass(frozen=True)
class ExecutorchBackendConfig:
    """Options of the lowering from the edge level to a file."""

    target: str = DEFAULT_TARGET
    """The runtime whose kernels the program must make do with: `stock-1.5`; `stock-1.5-quantized`, the same with the
    library of quantized kernels; `et-vm`; or `et-vm-aten` for et-vm with the kernels of torch.
    """
    extra_operators: Sequence[str] = ()
    """Operators that the runtime has kernels for beside the target's own: `mylib::foo.out`, as files name them."""
    extra_backends: Sequence[str] = ()
    """Backends that the runtime has beside the target's own, by their ids in files: `StripsBackend`."""
    memory_planning: str = "best"
    """Planning algorithm: `best`, `exact`, `greedy`, `naive`, `upstream`, one installed, or `module:function`."""
    alloc_graph_input: bool = True
    """Whether inputs get planned memory, or point at the caller's."""
    alloc_graph_output: bool = True
    """Whether outputs get planned memory, or the caller gives it."""
    chains: int = 1
    """For how many threads to cut methods into chains that may run at the same time, where that pays: `form-chains`."""
    check_plan: bool = False
    """Whether memory planning is checked by code that the planners do not share."""
    memory: str = ""
    """Memories with sizes and speeds, fast ones first, as `et-compile --memory` takes them:
    `sram:id=1,size=256K;dram:id=2`. One arena of any size unless it is given.
    """
    pins: Mapping[str, str] = field(default_factory=dict[str, str])
    """The bank of `memory` that values have to be in: `{"forward.inputs.0": "dram", "forward.modules.fc": "sram"}`.
    The module `et_ir.passes.memory.plan_memory.selectors` has the names; of several for one value the last counts.
    """
    caller_memory: Sequence[str] = ()
    """Inputs and outputs that are the caller's memory, beside what `alloc_graph_input` and `alloc_graph_output` say:
    `forward.inputs.0`, or `decode.outputs` for all of a method's.
    """
    unbounded: Unbounded = "error"
    """The treatment of unbounded tensors: an error, or no place in the plan; `et-vm` then finds memory
    for them while it runs, and gives it back.
    """
    emit_stacktrace: bool = False
    """Whether the file says for each instruction which source lines it comes from."""
    tensor_alignment: int = 16
    """The alignment of each constant in the file, in bytes: a power of two."""
    segment_alignment: int = 128
    """The alignment of each segment in the file, in bytes: a power of two."""
    delegate_alignment: int = 16
    """The least alignment of what backends compiled, in bytes: a power of two."""
    external_constants: bool | Mapping[str, str] | Callable[[str], str | None] = False
    """Whether constants go to a data file, `constants.ptd`; or the name of the file by patterns of the names of
    constants; or a function from the one to the other, None for those that stay in the program. Data that backends
    share goes with them, by its key. `write_tensor_data_to_file` writes the files.
    """
    model_schema: bool = False
    """Whether the program has a constant method `get_model_schema` that describes the others in JSON, with ranges of
    sizes, for react-native-executorch.
    """
    passes: Sequence[UserPass] = ()
    """Passes of the user's own, run on the backend-level module first."""
    level: str = DEFAULT
    """Optimization level, as `et-compile -O`: `0`, `1`, `2` or `s`."""
    observer: Observer | None = field(default=None, repr=False, compare=False)
    """Told of each pass that runs and each level that is reached."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for an alignment that is not a power of two, and for an unknown treatment of unbounded
        tensors.
        """
        for name in ("tensor_alignment", "segment_alignment", "delegate_alignment"):
            check_alignment(name, getattr(self, name))
        if self.unbounded not in get_args(Unbounded):
            raise ValueError(f"unbounded: {self.unbounded!r} is not one of {', '.join(get_args(Unbounded))}")
        if self.chains < 1:
            raise ValueError(f"chains: {self.chains} is not a number of threads, 1 or more")
