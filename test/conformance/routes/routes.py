"""Routes of programs: compiler options, backend and runtime, each a row of `ROUTES`.

A new backend, target, optimization level or kernel library is one more row; all programs run on it that it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import freestanding_machines as machines
import numpy as np
import torch
from stock import StockRuntime
from support.accuracy import assert_accurate
from vulkan_device import require_device

from et_backends.codegen.object_code import INSTRUCTION_SETS
from et_backends.coreml.compiler import CoreMLPartitioner
from et_backends.freestanding.compiler.programs import compile_program
from et_backends.native.compiler import NativePartitioner
from et_backends.nested.compiler import NestedPartitioner
from et_backends.openvino.compiler import OpenvinoPartitioner
from et_backends.tosa.compiler import TosaCompileSpec, TOSAPartitioner
from et_backends.vulkan.compiler import VulkanPartitioner
from et_backends.vulkan_graph.compiler import VulkanGraphPartitioner
from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import (
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    raise_program,
    to_edge,
    to_edge_transform_and_lower,
)
from et_ir.delegation.partitioner import Partitioner
from et_ir.targets.lookup import DEFAULT
from et_schema.program import DelegateCall
from et_schema.pte import PteFile, read_pte
from et_vm.backends.cpu import cpu_features
from et_vm.runtime import Runtime
from routes.cases import Case, ModelCase, Prepared, PreparedModel
from routes.files import (
    arena_bytes,
    calls_of,
    check_coreml_packages,
    check_level,
    check_named_constants,
    problems,
    through_text,
)

__all__ = ["MODELS", "OF_MICROCONTROLLERS", "ROUTES", "Freestanding", "Route"]

Execute = Callable[[list[Any]], tuple[Sequence[Any], Sequence[Any]]]
"""Executes with inputs: the results, and what the inputs hold afterwards."""

SMALL_MODELS: Final = frozenset({"small models"})
"""The family of example models that run within a second."""
LARGE_MODELS: Final = frozenset({"models"})
"""The family of those that take seconds."""
MODELS: Final = SMALL_MODELS | LARGE_MODELS
OF_MICROCONTROLLERS: Final = frozenset({"models of microcontrollers"})
"""The family of example models for emulators alone."""
EVERY: Final = MODELS | frozenset(
    {
        *("operators", "numbers", "control flow", "sizes", "caches", "features", "written inputs"),
        *("resizes", "resizes of any size"),
    }
)
SCALARS: Final = frozenset({"scalars"})
"""The family of programs for what computes with Python numbers itself: kernels, and generated code."""
QUANTIZED: Final = frozenset({"quantized"})
"""The family of programs for backends with operators on integers, and the kernels that these are compared with."""
STATIC: Final = frozenset({"operators", "resizes"}) | QUANTIZED
"""Families of programs for backends that compile graphs of tensors."""
FUSED: Final = frozenset({"fused"})
"""The family of programs for what generates code."""

AGAIN: Final = EVERY - MODELS - {"control flow"}
"""Families of programs whose files are compiled again; `test_raising.py` has models, and those with control flow."""
AGAIN_OF_STOCK: Final = AGAIN - {"resizes", "resizes of any size", "written inputs"}
"""Families of programs that stock's compiler compiles and whose files are compiled again. It takes torch's
decompositions, which go by factors where a size is kept, and returns inputs that are written as results, too.
"""


@dataclass(frozen=True)
class Route:
    """How programs are compiled and run, and how near to eager their results are: relative and absolute tolerances of
    floats.
    """

    families: frozenset[str] = EVERY
    partitioner: Callable[[], Partitioner] | None = None
    target: str = "et-vm"
    level: str = "1"
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    """Of the configuration of `to_executorch`."""
    kernels: str = "portable"
    poison: bool = False
    threads: int = 1
    is_stock: bool = False
    as_data: bool = False
    """Whether the stock runtime gets the bytes of a file, and not its path."""
    again: str = ""
    """Whose file is compiled again, `ours` or `stock`; none is if it is empty."""
    then: Callable[[], Partitioner] | None = None
    """The partitioner for the program of a file that is compiled again; `partitioner` is that of our file."""
    is_whole: bool = False
    """Whether nothing of a program of small operators may be left by the backend."""
    tolerance: tuple[float, float] = (1e-4, 1e-5)
    accuracy: float | None = None
    """Of an output of an example model, the largest error to its standard deviation; None where roundings of floats
    explain all errors (`support.accuracy`).
    """
    settings: Sequence[tuple[int, bool]] = ((1, False), (1, True))
    """Of example models: numbers of threads, and whether dead memory is poisoned. All give the same bits."""
    calls: int | None = None
    """The number of calls of delegates that an example model becomes; None for some with a partitioner, and none
    without.
    """
    text_passes: Sequence[str] = ()
    """Passes that the text of the file of an example model goes through, which becomes the same file again."""
    examine: Callable[[PteFile, Path], None] | None = None
    """A check of the file of an example model, in an empty folder."""
    no_larger_than: Sequence[str] = ()
    """Routes whose arenas for example models are at least as large: what levels say of memory."""
    require: Callable[[], None] = lambda: None
    models: Collection[str] | None = None
    """Names of the example models that it takes, where each takes seconds; None for all."""

    def takes(self, case: Case) -> bool:
        """Whether a program runs on this route."""
        is_named = self.models is None or not isinstance(case, ModelCase) or case.name in self.models
        return case.family in self.families and is_named

    def edge(self, case: Case, program: Prepared) -> EdgeProgramManager:
        """The program at the level of backends."""
        config = EdgeCompileConfig(level=self.level)
        if self.partitioner is None:
            return to_edge(program.module, compile_config=config)
        edge = to_edge_transform_and_lower(
            program.module, partitioner=self.partitioner(), compile_config=config
        )
        if self.is_whole and case.family == "operators" and not case.is_group:
            assert edge.delegation is not None
            assert [(one.subject, one.notes) for one in edge.delegation.left_out] == []
        return edge

    def configuration(self) -> Hashable:
        """All that the file depends on, besides the program."""
        options = tuple(sorted(self.options.items()))
        checks = self.is_whole, self.calls, self.text_passes, self.examine
        return type(self), self.partitioner, self.target, self.level, options, self.again, self.then, checks

    def compiled(self, case: Case, program: Prepared) -> bytes:
        """The file, compiled anew."""
        config = ExecutorchBackendConfig(target=self.target, level=self.level, **self.options)
        if not self.again:
            return self.edge(case, program).to_executorch(config).buffer
        ours = replace(self, again="", then=None)
        file = program.stock_file if self.again == "stock" else ours.file(case, program)
        edge = raise_program(file, level=self.level)
        edge = edge if self.then is None else edge.to_backend(self.then())
        return edge.to_executorch(config).buffer

    def file(self, case: Case, program: Prepared) -> bytes:
        """The file, compiled and checked once for all routes of its configuration."""

        def make() -> bytes:
            file = self.compiled(case, program)
            found = problems(file)
            assert not found, f"the file: {found[0]}"
            if isinstance(program, PreparedModel):
                self.check_model(file)
            return file

        return program.file(self.configuration(), make)

    def check_model(self, file: bytes) -> None:
        """The file of an example model: its text, and its delegates."""
        pte = read_pte(file)
        calls = len(calls_of(pte, DelegateCall))
        is_expected = (calls > 0) == self.is_delegated if self.calls is None else calls == self.calls
        assert is_expected, f"{calls} calls of delegates"
        check_level(file)
        if self.is_written_again:
            with TemporaryDirectory() as folder:
                again = through_text(file, Path(folder), self.text_passes)
            assert again == file, "the text becomes another file"
        if self.examine is not None:
            with TemporaryDirectory() as folder:
                self.examine(pte, Path(folder))

    @property
    def is_delegated(self) -> bool:
        return self.partitioner is not None

    @property
    def is_written_again(self) -> bool:
        """Whether the text of a file becomes the same file again."""
        return True

    def wrong(self, case: Case, program: Prepared, stock: StockRuntime, folder: Path) -> str | None:
        """The first difference from what eager returns and leaves in inputs, with its execution; None if there is none.

        Raises what compilers and runtimes raise, and what is wrong with the file.
        """
        self.require()
        path = folder / "program.pte"
        file = self.file(case, program)
        path.write_bytes(file)
        is_model = isinstance(program, PreparedModel)
        for name in self.no_larger_than if is_model else ():
            ours, other = arena_bytes(file), arena_bytes(ROUTES[name].file(case, program))
            if ours > other:
                return f"an arena of {ours:,} bytes, of {name} {other:,}"
        bits: set[bytes] = set()
        for setting, execute in self._runtimes(path, stock, is_model=is_model):
            for number, (inputs, expected) in enumerate(zip(program.inputs, program.expected, strict=True)):
                given = [one.clone() if isinstance(one, torch.Tensor) else one for one in inputs]
                results, left = execute(given)
                reason = self.difference(case, program, results, left, expected)
                if reason is not None:
                    return f"{setting}execution {number}: {reason}"
                if is_model:
                    bits.add(b"".join(np.asarray(one).tobytes() for one in results))
                    if len(bits) > 1:
                        return f"{setting}execution {number}: other bits than before"
        return None

    def _runtimes(self, path: Path, stock: StockRuntime, *, is_model: bool) -> Iterator[tuple[str, Execute]]:
        """Settings of the runtime, and what executes there: several for example models, and one for others."""
        if self.is_stock:
            yield "", self._on_stock(path, stock)
            return
        if not is_model:
            yield "", self._on_vm(path, threads=self.threads, poison=self.poison)
            return
        for threads, poison in self.settings:
            setting = f"{threads} threads, {'poisoned' if poison else 'plain'}, "
            yield setting, self._on_vm(path, threads=threads, poison=poison)

    def _on_vm(self, path: Path, *, threads: int, poison: bool) -> Execute:
        program = Runtime(threads=threads).load_program(
            path, kernels=self.kernels, poison=poison, allow_native=True
        )
        method = program.load_method("forward")
        return lambda inputs: (method.execute(inputs), inputs)

    def _on_stock(self, path: Path, stock: StockRuntime) -> Execute:
        return lambda inputs: stock.run_in_place(path, inputs, go_on=True, as_data=self.as_data)

    def difference(
        self,
        case: Case,
        program: Prepared,
        results: Sequence[Any],
        left: Sequence[Any],
        expected: Sequence[Any],
    ) -> str | None:
        """The first difference of an execution from what is expected."""
        if not isinstance(program, PreparedModel):
            return self._difference([*results, *left], expected, case.step)
        count = len(program.model.expected)
        try:
            if self.accuracy is None:
                assert_accurate(list(results), program.model.truth)
            else:
                for got, wanted in zip(results, expected[:count], strict=True):
                    error = float((torch.as_tensor(got) - wanted).abs().max() / wanted.std())
                    assert error <= self.accuracy, f"an error of {error:.3g} standard deviations"
        except AssertionError as error:
            return str(error)
        return self._difference(left, expected[count:], 0.0)

    def _difference(self, found: Sequence[Any], expected: Sequence[Any], step: float) -> str | None:
        if len(found) != len(expected):
            return f"{len(found)} values, expected {len(expected)}"
        rtol, atol = self.tolerance
        atol = max(atol, 1.001 * step)
        for number, (got, wanted) in enumerate(zip(found, expected, strict=True)):
            if not isinstance(wanted, torch.Tensor):
                if type(got) is not type(wanted) or got != wanted:
                    return f"value {number}: {got!r}, expected {wanted!r}"
                continue
            value = torch.as_tensor(np.array(got)) if isinstance(got, np.ndarray) else torch.as_tensor(got)
            try:
                torch.testing.assert_close(value, wanted, rtol=rtol, atol=atol, equal_nan=True)
            except AssertionError as error:
                return f"value {number}: {error}"
        return None


@dataclass(frozen=True)
class OfStock(Route):
    """Files of the stock compiler as they are, or written again from their text."""

    is_lowered: bool = False
    """Whether the stock partitioner lowers the program for XNNPACK."""
    is_text: bool = False

    @property
    def is_delegated(self) -> bool:
        return self.is_lowered

    @property
    def is_written_again(self) -> bool:
        return self.is_text

    def configuration(self) -> Hashable:
        return super().configuration(), self.is_lowered, self.is_text

    def compiled(self, case: Case, program: Prepared) -> bytes:
        del case
        assert isinstance(program, PreparedModel)
        file = program.stock_xnnpack_file if self.is_lowered else program.stock_file
        if not self.is_text:
            return file
        with TemporaryDirectory() as folder:
            return through_text(file, Path(folder))


LARGEST_STACK: Final = 8 << 10
"""Bytes that an example model may have on the stack."""


@dataclass(frozen=True)
class Freestanding(Route):
    """Programs as objects without a runtime, whose buffers are between guard pages.

    Of the processors, two that compute in float64, as some scans do, take the programs that are fused. Large models are
    processes of Linux, and all others run in emulators.
    """

    processor: str = "cortex-m7"

    def wrong(self, case: Case, program: Prepared, stock: StockRuntime, folder: Path) -> str | None:
        del stock
        made = compile_program(program.module.clone(), self.processor, "op")
        is_model = isinstance(program, PreparedModel)
        # Without state, and in new memory each time, a second execution of a model would be the first one.
        runs = list(zip(program.inputs, program.expected, strict=True))[: 1 if is_model else None]
        for number, (inputs, expected) in enumerate(runs):
            given = [
                np.ascontiguousarray(one.numpy().transpose(tensor.dim_order))
                for one, tensor in zip(inputs, made.interface.inputs, strict=True)
            ]
            is_process = case.family in LARGE_MODELS
            found = machines.run(self.processor, folder, made, given, as_process=is_process)
            if found.status:
                return f"execution {number}: {made.interface.messages[found.status - 1]}"
            if is_model and not found.stack <= made.stack_bytes < LARGEST_STACK:
                return f"{found.stack} bytes of stack, {made.stack_bytes} said, {LARGEST_STACK} allowed"
            reason = self.difference(case, program, found.outputs, inputs, expected)
            if reason is not None:
                return f"execution {number}: {reason}"
        return None


SETS: Final = [name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags)]


def _native(name: str) -> Callable[[], Partitioner]:
    return lambda: NativePartitioner(instruction_sets=[name])


def _tosa() -> Partitioner:
    return TOSAPartitioner(TosaCompileSpec("TOSA-1.0+FP+INT"))


def _coreml_f16() -> Partitioner:
    return CoreMLPartitioner(precision="f16")


def _vulkan_f16() -> Partitioner:
    return VulkanPartitioner(storage="f16")


CALLERS: Final = {"alloc_graph_input": False, "alloc_graph_output": False}

EMULATED: Final = {
    "cortex-m4": ("digits", "darts_cell", "image_classification", "lstm"),
    "cortex-m33": ("anomaly_detection",),
    "cortex-m7": ("keyword_spotting", "nasnet_cell"),
    "wasm32": ("gru",),
    "x86-64": ("mobilenet_v2", "mobilenet_v3", "resnet18", "unet", "detector", "vit", "bert", "llama"),
    "aarch64": ("mobilenet_v2", "mobilenet_v3", "unet", "vit", "bert", "llama"),
    "riscv64gc": ("mobilenet_v2", "detector"),
}
"""Example models by the processor that they run on as objects."""
F32, F16 = 1e-4, 0.05
"""Accuracies of example models by the type that backends compute in."""
ROUNDED: Final = 0.1
"""The accuracy of OpenVINO on the stock runtime: it cannot tell OpenVINO to keep to f32 on CPUs with bfloat16, and some
of the marks by which nodes keep to it get lost when OpenVINO fuses them.
"""
POISONED: Final = ((1, True),)
"""Settings of what takes seconds."""
XNNPACK_TEXT: Final = ("open-xnnpack", "close-xnnpack")
"""Take graphs apart, and put them together."""

ROUTES: Final[dict[str, Route]] = {
    "portable": Route(EVERY | QUANTIZED | SCALARS, tolerance=(1e-5, 1e-6)),
    "portable-poisoned": Route(poison=True, target=DEFAULT, tolerance=(1e-5, 1e-6)),
    "aten": Route(kernels="aten", target=DEFAULT, tolerance=(1e-5, 1e-6)),
    "aten-poisoned": Route(kernels="aten", poison=True, target="et-vm-aten", tolerance=(1e-5, 1e-6)),
    "stock": Route(
        EVERY | QUANTIZED | SCALARS,
        is_stock=True,
        target=DEFAULT,
        tolerance=(1e-5, 1e-6),
        no_larger_than=("O2-stock",),
    ),
    "O0": Route(level="0", poison=True, tolerance=(1e-5, 1e-6)),
    "O0-stock": Route(MODELS, level="0", is_stock=True, target=DEFAULT),
    "O2": Route(level="2", poison=True, tolerance=(1e-5, 1e-6)),
    "O2-stock": Route(MODELS, level="2", is_stock=True, target=DEFAULT),
    "Os": Route(MODELS, level="s", target=DEFAULT, no_larger_than=("stock", "O0-stock")),
    "Os-stock": Route(level="s", is_stock=True, target=DEFAULT, tolerance=(1e-5, 1e-6)),
    "callers-memory": Route(options=CALLERS, poison=True, tolerance=(1e-5, 1e-6)),
    "callers-memory-stock": Route(options=CALLERS, is_stock=True, target=DEFAULT, tolerance=(1e-5, 1e-6)),
    "again": Route(AGAIN, again="ours", poison=True, tolerance=(1e-5, 1e-6)),
    "again-stock": Route(AGAIN, again="ours", is_stock=True, target=DEFAULT, tolerance=(1e-5, 1e-6)),
    "again-of-stock": Route(AGAIN_OF_STOCK, again="stock", poison=True, tolerance=(1e-5, 1e-6)),
    "again-of-xnnpack": Route(AGAIN, XnnpackPartitioner, again="ours", poison=True, tolerance=(1e-3, 1e-4)),
    "again-for-xnnpack": Route(
        AGAIN_OF_STOCK, again="stock", then=XnnpackPartitioner, poison=True, tolerance=(1e-3, 1e-4)
    ),
    "again-for-native": Route(AGAIN_OF_STOCK, again="stock", then=_native(SETS[-1]), poison=True),
    "nested": Route(partitioner=NestedPartitioner, poison=True, tolerance=(1e-5, 1e-6)),
    **{
        f"native-{name}": Route(
            EVERY | FUSED | QUANTIZED | SCALARS,
            _native(name),
            poison=True,
            threads=2 - number % 2,
            settings=((1, True), (2, True), (3, True)),
        )
        for number, name in enumerate(SETS)
    },
    **{
        f"freestanding-{name}": Freestanding(families, processor=name, models=EMULATED[name])
        for name, families in (
            ("cortex-m7", FUSED | SMALL_MODELS | OF_MICROCONTROLLERS),
            ("riscv64gc", FUSED | LARGE_MODELS),
            *((name, SMALL_MODELS | OF_MICROCONTROLLERS) for name in ("cortex-m4", "cortex-m33", "wasm32")),
            *((name, LARGE_MODELS) for name in ("x86-64", "aarch64")),
        )
    },
    "of-stock": OfStock(MODELS),
    "of-stock-aten": OfStock(MODELS, kernels="aten"),
    "of-stock-text": OfStock(MODELS, is_text=True),
    "of-stock-text-aten": OfStock(MODELS, is_text=True, kernels="aten"),
    "of-stock-text-stock": OfStock(MODELS, is_text=True, is_stock=True),
    "of-stock-xnnpack": OfStock(MODELS, is_lowered=True, accuracy=F32),
    "of-stock-xnnpack-aten": OfStock(MODELS, is_lowered=True, kernels="aten", accuracy=F32),
    "xnnpack-stock": Route(
        EVERY | QUANTIZED,
        partitioner=XnnpackPartitioner,
        is_stock=True,
        target=DEFAULT,
        is_whole=True,
        tolerance=(1e-3, 1e-4),
        accuracy=F32,
        text_passes=XNNPACK_TEXT,
        examine=check_named_constants,
    ),
    "xnnpack": Route(
        EVERY | QUANTIZED,
        partitioner=XnnpackPartitioner,
        poison=True,
        tolerance=(1e-3, 1e-4),
        accuracy=F32,
        text_passes=XNNPACK_TEXT,
    ),
    "xnnpack-aten": Route(
        partitioner=XnnpackPartitioner,
        kernels="aten",
        tolerance=(1e-3, 1e-4),
        accuracy=F32,
        text_passes=XNNPACK_TEXT,
    ),
    "coreml": Route(
        STATIC | MODELS,
        CoreMLPartitioner,
        poison=True,
        accuracy=F32,
        settings=POISONED,
        examine=check_coreml_packages,
    ),
    "coreml-f16": Route(MODELS, _coreml_f16, accuracy=F16, settings=POISONED, examine=check_coreml_packages),
    "openvino": Route(STATIC | MODELS, OpenvinoPartitioner, poison=True, accuracy=F32, settings=((2, True),)),
    "openvino-stock": Route(
        MODELS, OpenvinoPartitioner, target=DEFAULT, is_stock=True, as_data=True, accuracy=ROUNDED
    ),
    "tosa": Route(STATIC, _tosa, poison=True),
    "vulkan": Route(
        EVERY | FUSED,
        VulkanPartitioner,
        poison=True,
        require=require_device,
        accuracy=1e-3,
        settings=POISONED,
        calls=1,
    ),
    "vulkan-f16": Route(
        MODELS, _vulkan_f16, require=require_device, accuracy=F16, settings=POISONED, calls=1
    ),
    "vulkan-graph": Route(STATIC, VulkanGraphPartitioner, poison=True),
}
