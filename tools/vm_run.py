"""`et-vm run`: execute a method and say what came out."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from et_schema.diagnostics import did_you_mean
from et_schema.errors import InputError
from et_tools.exit_codes import UsageError
from et_tools.output import check_output, check_output_folder
from et_tools.streams import fit, line_width
from et_tools.vm_backends import chosen_backends, chosen_native
from et_tools.vm_files import chosen_platform, count, open_data, open_program, show_bytes
from et_tools.vm_kernels import chosen_kernels
from et_vm.run.interpreter import MAX_INSTRUCTIONS

if TYPE_CHECKING:
    from et_vm.meta import MethodMeta, TensorInfo
    from et_vm.program import Program
    from et_vm.run.method import Method

SHOWN_VALUES = 8
# How a zip archive begins, which is what an .npz file is.
ZIP = b"PK"
JSON_VALUES = 64
# What `dtype.isbuiltin` says of types that another package added to numpy.
_REGISTERED = 2


class Input(NamedTuple):
    """A value for one input, and where it comes from."""

    value: Any
    source: str


def run_file(args: argparse.Namespace) -> None:
    """Execute as the command line says and print the result.

    Raises UsageError for inputs that cannot be had, and what loading and executing raise.
    """
    if args.output_dir is not None:
        check_output_folder(args.output_dir)

    program = open_program(args.file, chosen_platform(args))
    name = _method_name(program, args.method)
    inputs = _inputs(program.method_meta(name), args.input or ["random:0"])
    method = program.load_method(
        name,
        kernels=chosen_kernels(args, args.kernels),
        backends=chosen_backends(args),
        native=chosen_native(args),
        poison=args.poison,
        external=open_data(args.data),
        instruction_limit=args.instruction_limit or MAX_INSTRUCTIONS,
    )
    values: list[Any] = []
    outputs: list[Any] = []
    seconds: list[float] = []
    for _ in range(args.repeat or 1):
        # What the method writes to is shown before and after, and every run starts from the same.
        values = [
            given.value.copy() if index in method.written_inputs else given.value
            for index, given in enumerate(inputs)
        ]
        start = time.perf_counter()
        try:
            outputs = method.execute(values)
        except InputError as error:
            raise _with_source(error, inputs) from None
        seconds.append(time.perf_counter() - start)
    results = [(f"output {index}", value) for index, value in enumerate(outputs)]
    results += [(f"input {index}", values[index]) for index in method.written_inputs]
    files = [] if args.output_dir is None else _write(results, Path(args.output_dir))
    latency = {"runs": len(seconds), "min": min(seconds) * 1e3, "median": float(np.median(seconds)) * 1e3}
    if args.json:
        report: dict[str, Any] = {
            "file": args.file,
            "method": name,
            "kernels": args.kernels,
            "inputs": [{**_facts(given.value), "source": given.source} for given in inputs],
            "outputs": [_facts(value, JSON_VALUES) for value in outputs],
            "memory": method.memory_report(),
        }
        report["written_inputs"] = [
            {"input": index, **_facts(values[index], JSON_VALUES)} for index in method.written_inputs
        ]
        shown = [*report["outputs"], *report["written_inputs"]]
        for output, path in zip(shown, files, strict=bool(files)):
            output["file"] = str(path)
        if args.repeat:
            report["latency_ms"] = latency
        print(json.dumps(report, indent=2, allow_nan=False))
        return
    _print(name, args.kernels, method, inputs, results, files, line_width(sys.stdout, wide=args.wide))
    if args.repeat:
        print(
            f"latency   min {latency['min']:.3f} ms  median {latency['median']:.3f} ms  of {args.repeat} runs"
        )


def _with_source(error: InputError, inputs: list[Input]) -> InputError:
    """The error with the file the input is from."""
    label, _, index = (error.where or "").partition(" ")
    if label == "input" and index.isdecimal():
        error.where = f"{error.where} ({inputs[int(index)].source})"
        error.hint = error.hint or "et-vm info shows the inputs of the method"
    return error


def _method_name(program: Program, asked: str | None) -> str:
    names = program.method_names
    if asked is not None:
        if asked not in names:
            hint = did_you_mean(asked, names)
            raise UsageError(f"no method {asked!r}; the methods are {', '.join(names)}{hint}")
        return asked
    if "forward" in names or len(names) == 1:
        return "forward" if "forward" in names else names[0]
    raise UsageError(f"choose a method with --method: {', '.join(names)}")


def _inputs(meta: MethodMeta, sources: list[str]) -> list[Input]:
    """One value for each input of the method. Inputs that are no tensors have the value they were exported
    with.
    """
    slots = range(meta.num_inputs())
    tensors = [slot for slot in slots if meta.input_tag(slot) == "Tensor"]
    if len(sources) == 1 and _generator(sources[0]):
        sources = sources * len(tensors)
    given: list[Input | str] = []
    for source in sources:
        given += [source] if _generator(source) else _load(source)
    if len(given) not in (len(tensors), meta.num_inputs()):
        names = ", ".join(item if isinstance(item, str) else item.source for item in given[:SHOWN_VALUES])
        raise UsageError(
            f"{meta.name()} takes {count(meta.num_inputs(), 'input')}, got {len(given)}"
            + (f": {names}" if names else "")
            + (", …" if len(given) > SHOWN_VALUES else "")
        )
    filled = list(slots) if len(given) == meta.num_inputs() else tensors
    chosen = dict(zip(filled, given, strict=True))
    values: list[Input] = []
    for slot in slots:
        source = chosen.get(slot, "as exported")
        if not isinstance(source, str):
            values.append(_reinterpret(source, meta, slot))
        elif meta.input_tag(slot) == "Tensor":
            values.append(Input(_generate(source, meta.input_tensor_meta(slot), slot), source))
        else:
            values.append(Input(meta.input_value(slot), "as exported"))
    return values


def _generator(source: str) -> bool:
    kind, _, seed = source.partition(":")
    if kind == "random":
        if seed and not seed.isdecimal():
            raise UsageError(f"the seed in {source!r} is not a number")
        return True
    return source == "ones"


def _generate(source: str, tensor: TensorInfo, slot: int) -> Any:
    """Ones; or normal floats, integers from 0 to 9, and bools, from a generator of its own for each input."""
    from et_schema.scalar_type import numpy_dtype

    dtype = numpy_dtype(tensor.dtype())
    if source == "ones":
        return np.ones(tensor.sizes(), dtype)
    generator = np.random.default_rng((int(source.partition(":")[2] or 0), slot))
    if dtype.kind == "b":
        return generator.integers(0, 2, tensor.sizes()).astype(dtype)
    if dtype.kind in "iu":
        return generator.integers(0, 10, tensor.sizes()).astype(dtype)
    return generator.standard_normal(tensor.sizes(), np.float32).astype(dtype)


def _load(source: str) -> list[Input]:
    """The arrays of a file. Raises UsageError for what is none, OSError."""
    if not source.endswith((".npy", ".npz")):
        raise UsageError(f"input {source!r} not recognized: expected x.npy, x.npz, random[:SEED] or ones")
    with open(source, "rb") as file:
        zipped = file.read(len(ZIP)) == ZIP
        file.seek(0)
        try:
            if not zipped:
                return [Input(_native(np.lib.format.read_array(file, allow_pickle=False)), source)]
            with np.load(file, allow_pickle=False) as arrays:
                return [Input(_native(arrays[key]), f"{source}[{key}]") for key in arrays.files]
        except OSError:
            raise
        except Exception as error:
            # What numpy, zipfile and zlib raise for a damaged file is not written down: TokenError is among it.
            what = "not a valid .npz file" if zipped else "not a valid .npy file of numbers"
            raise UsageError(f"{source}: {what}: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    text = (str(error).splitlines() or [type(error).__name__])[0]
    return "contains Python objects" if "allow_pickle" in text else text


def _native(array: np.ndarray) -> np.ndarray:
    """The array in this machine's byte order."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _reinterpret(given: Input, meta: MethodMeta, slot: int) -> Input:
    """numpy files hold the types of ml_dtypes as raw bytes: give them their type back."""
    from et_schema.scalar_type import numpy_dtype

    if meta.input_tag(slot) == "Tensor" and given.value.dtype.kind == "V":
        dtype = numpy_dtype(meta.input_tensor_meta(slot).dtype())
        # Records are no raw bytes, and types of numpy's own are never written as such.
        raw = given.value.dtype.fields is None and dtype.isbuiltin == _REGISTERED
        if raw and dtype.itemsize == given.value.dtype.itemsize:
            return given._replace(value=given.value.view(dtype))
    return given


def _plain(value: Any) -> Any:
    """An array whose type every reader of numpy files knows: bfloat16 and float8 become float32, which
    holds them exactly.
    """
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype.isbuiltin == _REGISTERED else array


def _write(results: list[tuple[str, Any]], folder: Path) -> list[Path]:
    """Write all results to files of their names, or if something fails none."""
    from et_schema.files import atomic_writer

    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{label.replace(' ', '_')}.npy" for label, _ in results]
    for path in files:
        check_output(str(path))
    with ExitStack() as streams:
        for path, (_, value) in zip(files, results, strict=True):
            stream = streams.enter_context(atomic_writer(path))
            np.save(_Sink(stream.write), _plain(value), allow_pickle=False)
    return files


class _Sink(NamedTuple):
    """A binary stream for numpy to write to in parts. Writing a file by itself, numpy forgets why that failed."""

    write: Callable[[bytes], int]


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinities: they become strings."""
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _facts(value: Any, shown: int = 0) -> dict[str, Any]:
    """Type, shape and range of a value, and itself when it has at most `shown` elements."""
    if not isinstance(value, np.ndarray):
        return {"type": type(value).__name__, "value": _finite(value)}
    facts: dict[str, Any] = {"dtype": value.dtype.name, "shape": list(value.shape)}
    plain = _plain(value)
    if plain.size and plain.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            wide = plain if plain.dtype.kind != "f" else plain.astype(np.float64)
            facts |= {
                "min": _finite(wide.min().item()),
                "mean": _finite(float(wide.mean())),
                "max": _finite(wide.max().item()),
            }
    if plain.size <= shown:
        facts["values"] = _finite(plain.tolist())
    return facts


def _print(
    name: str,
    kernels: str,
    method: Method,
    inputs: list[Input],
    results: list[tuple[str, Any]],
    files: list[Path],
    width: int,
) -> None:
    meta = method.metadata
    print(fit(f"{name}: {count(meta.num_instructions(), 'instruction')}, {kernels} kernels", width))
    for index, given in enumerate(inputs):
        _print_value(f"input {index}", given.value, given.source, width)
    for index, (label, value) in enumerate(results):
        after = "after  " if label.startswith("input") else ""
        _print_value(label, value, after + _range(value), width)
        if isinstance(value, np.ndarray):
            print(fit(f"{'':10}{_preview(value)}", width))
        if files:
            print(f"{'':10}{fit(str(files[index]), width - 10)}")
    parts = [f"{label} {show_bytes(size)}" for label, size in method.memory_report().items() if size]
    print("memory    " + ("\n" + " " * 10).join(parts or ["none"]))


def _print_value(label: str, value: Any, note: str, width: int) -> None:
    """Label, type and note on one line where they fit, else on two."""
    if isinstance(value, np.ndarray):
        what = f"{value.dtype.name} {list(value.shape)}"
    else:
        what = f"{type(value).__name__} {value!r}"
    line = f"{label:10}{what:26}  {note}".rstrip()
    if len(line) <= width:
        print(line)
        return
    print(fit(f"{label:10}{what}", width))
    if note:
        print(f"{'':10}{fit(note, width - 10)}")


def _range(value: Any) -> str:
    facts = _facts(value)
    if "min" not in facts:
        return ""
    return "  ".join(f"{key} {_number(facts[key])}" for key in ("min", "mean", "max"))


def _number(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _preview(value: Any) -> str:
    """The first elements."""
    flat = _plain(value).reshape(-1)
    shown = ", ".join(_number(item) for item in flat[:SHOWN_VALUES].tolist())
    return f"[{shown}{', …' if flat.size > SHOWN_VALUES else ''}]"
