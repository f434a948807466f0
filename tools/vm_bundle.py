"""`et-vm bundle`: write a program with a test case."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from et_schema.wording import count
from et_tools.exit_codes import UsageError
from et_tools.output import check_output, write_stdout
from et_tools.vm_backends import chosen_backends
from et_tools.vm_files import open_data
from et_tools.vm_inputs import Input, is_registered, load_arrays, method_inputs, method_name
from et_tools.vm_kernels import chosen_kernels
from et_vm.backend import NativeOptions

if TYPE_CHECKING:
    from et_vm.meta import MethodMeta, TensorInfo
    from et_vm.program import Program

_CASTS = {"Int": int, "Double": float, "Bool": bool}


def bundle_file(args: argparse.Namespace) -> None:
    """Add a test case to a program, or to a bundle, and write the bundle.

    Raises UsageError for inputs and outputs that cannot be had or do not fit the method, and what loading and
    executing raise.
    """
    from et_schema.bpte import is_bundled
    from et_vm.devtools.bundled import BundledProgram
    from et_vm.load.loader import BytesDataLoader, MmapDataLoader
    from et_vm.program import Program

    check_output(args.output, [*(args.input or ()), *(args.expected or ()), *(args.data or ())])
    loader = (
        BytesDataLoader(sys.stdin.buffer.read(), "<stdin>") if args.file == "-" else MmapDataLoader(args.file)
    )
    data = loader.load_all()
    cases: list[tuple[str, list[Any], list[Any]]] = []
    if is_bundled(data):
        bundled = BundledProgram(data)
        program = bundled.program
        cases = [(name, bundled.inputs(name, at), bundled.expected(name, at)) for name, at in bundled.cases()]
    else:
        # A bundle may take the place of the bundle that it is made of.
        check_output(args.output, [args.file])
        program = Program(loader)
    name = method_name(program, args.method)
    meta = program.method_meta(name)
    inputs = method_inputs(meta, args.input or ["random:0"])
    for index, given in enumerate(inputs):
        if meta.input_tag(index) == "Tensor":
            _check(given, meta.input_tensor_meta(index), f"input {index}")
    values = [given.value for given in inputs]
    outputs = _run(args, program, name, values) if args.expected is None else _expected(meta, args.expected)
    _write(args.output, program, [*cases, (name, values, outputs)])


def _run(args: argparse.Namespace, program: Program, name: str, inputs: list[Any]) -> list[Any]:
    """The outputs of the method."""
    method = program.load_method(
        name,
        kernels=chosen_kernels(args, args.kernels),
        backends=chosen_backends(args),
        external=open_data(args),
        native=NativeOptions(args.native),
    )
    # What the method writes to is bundled as it was.
    return method.execute([value.copy() if isinstance(value, np.ndarray) else value for value in inputs])


def _expected(meta: MethodMeta, sources: list[str]) -> list[Any]:
    """The expected outputs from files."""
    for source in sources:
        if not source.endswith((".npy", ".npz")):
            raise UsageError(f"--expected {source}: expected x.npy or x.npz")
    given = [one for source in sources for one in load_arrays(source)]
    if len(given) != meta.num_outputs():
        raise UsageError(f"{meta.name()} has {count(meta.num_outputs(), 'output')}, got {len(given)}")
    outputs: list[Any] = []
    for index, (value, source) in enumerate(given):
        tag, what = meta.output_tag(index), f"output {index}"
        if tag == "Tensor":
            tensor = meta.output_tensor_meta(index)
            outputs.append(_check(Input(_typed(value, tensor), source), tensor, what))
        elif tag not in _CASTS or value.ndim:
            raise UsageError(f"{what} ({source}): the method gives {tag}, not an array")
        else:
            outputs.append(_CASTS[tag](value))
    return outputs


def _typed(value: np.ndarray, tensor: TensorInfo) -> np.ndarray:
    """The array in the element type that files of numpy lack: `et-vm run --output-dir` writes such as float32."""
    from et_schema.scalar_type import numpy_dtype

    dtype = numpy_dtype(tensor.dtype())
    return value.astype(dtype) if is_registered(dtype) and value.dtype == np.float32 else value


def _check(given: Input, tensor: TensorInfo, what: str) -> np.ndarray:
    """The array. Raises UsageError if it does not have the type and the sizes of a tensor of the method."""
    from et_schema.scalar_type import numpy_dtype

    dtype, sizes = numpy_dtype(tensor.dtype()), tensor.sizes()
    array = np.asarray(given.value)
    fits = array.dtype == dtype and array.ndim == len(sizes)
    most = ""
    if fits and tensor.is_dynamic():
        fits = not tensor.is_bounded() or all(a <= b for a, b in zip(array.shape, sizes, strict=True))
        most = " at most"
    elif fits:
        fits = array.shape == sizes
    if not fits:
        raise UsageError(
            f"{what} ({given.source}) is {array.dtype.name} {list(array.shape)}, "
            f"the method has {dtype.name}{most} {list(sizes)}"
        )
    return array


def _write(output: str, program: Program, cases: list[tuple[str, list[Any], list[Any]]]) -> None:
    from io import BytesIO

    from et_schema.files import atomic_writer
    from et_vm.devtools.bundled import bundle

    if output == "-":
        stream = BytesIO()
        bundle(program.file, cases, stream)
        write_stdout(stream.getvalue())
        return
    with atomic_writer(Path(output)) as stream:
        bundle(program.file, cases, stream)
