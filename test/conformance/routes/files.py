"""Checks of the file of a route: its plan, its text, and what is in its delegates.

Core ML is on Apple's systems alone: coremltools' reader infers the types of all values of our programs anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from et_backends.xnnpack.format.blob import read_xnnpack
from et_ir.driver.stages import run_pipeline
from et_ir.emit import disassemble
from et_schema.pte import PteFile, read_pte
from et_tools.et_opt import main as et_opt
from et_tools.et_translate import main as et_translate
from et_vm.run.validation import validate

__all__ = [
    "arena_bytes",
    "calls_of",
    "check_coreml_packages",
    "check_level",
    "check_named_constants",
    "problems",
    "through_text",
]


def problems(file: bytes) -> list[str]:
    """Faults of a file, and places where its plan overwrites what is still needed."""
    found = validate(memoryview(file))
    return [str(error) for error in (*found.problems, *found.clashes)]


def through_text(file: bytes, folder: Path, passes: Sequence[str] = ()) -> bytes:
    """The file as text, run through passes one after the other, and written again."""
    paths = [folder / f"{number}.mlir" for number in range(len(passes) + 1)]
    before, after = folder / "before.pte", folder / "after.pte"
    before.write_bytes(file)
    assert et_translate(["--pte-to-mlir", str(before), "-o", str(paths[0])]) == 0
    for number, name in enumerate(passes):
        assert et_opt(["-p", name, str(paths[number]), "-o", str(paths[number + 1])]) == 0
        assert paths[number + 1].read_bytes() != paths[number].read_bytes(), f"{name} changes nothing"
    assert et_translate(["--mlir-to-pte", str(paths[-1]), "-o", str(after)]) == 0
    return after.read_bytes()


def check_level(file: bytes) -> None:
    """A file is a program by the contract of its level."""
    run_pipeline(disassemble(read_pte(file)), "verify-executorch")


def arena_bytes(file: bytes) -> int:
    """Bytes of memory for intermediate values."""
    return sum(read_pte(file).program.execution_plan[0].non_const_buffer_sizes)


def calls_of(file: PteFile, kind: type) -> list[Any]:
    """The arguments of instructions of a kind."""
    return [
        instruction.instr_args
        for plan in file.program.execution_plan
        for chain in plan.chains
        for instruction in chain.instructions
        if isinstance(instruction.instr_args, kind)
    ]


def blobs(file: PteFile) -> list[bytes]:
    """What each delegate of a file has compiled."""
    found: list[bytes] = []
    for plan in file.program.execution_plan:
        for delegate in plan.delegates:
            assert delegate.processed is not None
            found.append(bytes(file.delegate_data(delegate.processed)))
    return found


def check_named_constants(file: PteFile, folder: Path) -> None:
    """Nothing is in the blobs for XNNPACK but graphs: weights are stored once, whichever partitions use them."""
    del folder
    named = {one.key for one in file.program.named_data}
    for one in blobs(file):
        blob = read_xnnpack(memoryview(one))
        assert not blob.constants
        assert {one.named_key for one in blob.graph.constant_data[1:]} <= named


def check_coreml_packages(file: PteFile, folder: Path) -> None:
    """Unpacked by ExecuTorch's code, blobs are packages whose programs coremltools infers the same types for."""
    for at, blob in enumerate(blobs(file)):
        _read_by_coremltools(blob, folder / str(at))


def _read_by_coremltools(blob: bytes, folder: Path) -> None:
    """Unpacked by ExecuTorch's code, a blob is a package whose program coremltools infers the same types for."""
    from coremltools.converters.mil.frontend.milproto.load import load
    from coremltools.models import MLModel
    from executorch.backends.apple.coreml import executorchcoreml

    folder.mkdir()
    assert executorchcoreml.unflatten_directory_contents(blob, str(folder))
    package = folder / "lowered_module/model.mlpackage"
    spec: Any = MLModel(str(package), skip_model_load=True).get_spec()
    weights = package / "Data/com.apple.CoreML/weights"
    read: Any = load(spec, spec.specificationVersion, file_weights_dir=str(weights))
    function = spec.mlProgram.functions["main"]
    declared = {
        output.name: (
            output.type.tensorType.dataType,
            tuple(size.constant.size for size in output.type.tensorType.dimensions),
        )
        for op in function.block_specializations[function.opset].operations
        for output in op.outputs
    }
    from coremltools.converters.mil.backend.mil.helper import types_to_proto_primitive

    inferred = {
        output.name: (types_to_proto_primitive(output.dtype), tuple(output.shape))
        for op in read.functions["main"].operations
        for output in op.outputs
    }
    assert inferred
    assert inferred == {name: declared[name] for name in inferred}
