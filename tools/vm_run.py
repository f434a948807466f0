"""`et-vm run`: execute a method and say what came out."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from et_schema.errors import InputError
from et_schema.wording import count
from et_tools.exit_codes import UsageError
from et_tools.output import check_output, check_output_folder
from et_tools.streams import fit, line_width
from et_tools.vm_backends import chosen_backends, chosen_native
from et_tools.vm_files import chosen_platform, open_data, open_program, show_bytes
from et_tools.vm_inputs import Input, is_registered, method_inputs, method_name
from et_tools.vm_kernels import chosen_kernels
from et_vm.backend import MAX_THREADS
from et_vm.program import Program
from et_vm.run.interpreter import MAX_INSTRUCTIONS

if TYPE_CHECKING:
    from concurrent.futures import Future

    from et_tools.vm_run_text import EvaluatedMethod, TextProgram
    from et_vm.run.method import Method

SHOWN_VALUES = 8
JSON_VALUES = 64


def run_file(args: argparse.Namespace) -> None:
    """Execute as the command line says and print the result.

    Raises UsageError for inputs that cannot be had, and what loading and executing raise.
    """
    if args.output_dir is not None:
        check_output_folder(args.output_dir)

    _check_in_flight(args)
    program = _open(args)
    name = method_name(program, args.method)
    inputs = method_inputs(program.method_meta(name), args.input or ["random:0"])
    method = _load(program, name, args)
    values: list[Any] = []
    outputs: list[Any] = []
    seconds: list[float] = []
    requests: _Requests | None = None
    try:
        if args.in_flight:
            requests = _Requests(cast("Method", method), inputs, args.repeat, args.in_flight)
            values, outputs, seconds = requests.values, requests.outputs, requests.seconds
        else:
            for _ in range(args.repeat or 1):
                values = _fresh(inputs, method.written_inputs)
                start = time.perf_counter()
                outputs = method.execute(values)
                seconds.append(time.perf_counter() - start)
    except InputError as error:
        raise _with_source(error, inputs, program) from None
    if isinstance(program, Program):
        program.check_unchanged()
    results = [(f"output {index}", value) for index, value in enumerate(outputs)]
    results += [(f"input {index}", values[index]) for index in method.written_inputs]
    files = [] if args.output_dir is None else _write(results, Path(args.output_dir))
    # Without NumPy's function, which imports masked arrays: as much as everything else that a short run imports.
    ordered, count = sorted(seconds), len(seconds)
    median = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    latency = {"runs": count, "min": ordered[0] * 1e3, "median": median * 1e3}
    if requests is not None:
        latency["p99"] = ordered[math.ceil(count * 0.99) - 1] * 1e3
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
        if requests is not None:
            report["in_flight"] = args.in_flight
            report["throughput_per_s"] = count / requests.elapsed
            report["serialized_by"] = requests.serialized_by
        print(json.dumps(report, indent=2, allow_nan=False))
        return
    title = f"{name}: {_description(program, name, args.kernels)}"
    _print(title, method.memory_report(), inputs, results, files, line_width(sys.stdout, wide=args.wide))
    if args.repeat:
        print(
            f"latency   min {latency['min']:.3f} ms  median {latency['median']:.3f} ms  "
            + (f"p99 {latency['p99']:.3f} ms  " if requests is not None else "")
            + f"of {args.repeat} runs"
        )
    if requests is not None:
        print(f"requests  {count / requests.elapsed:.1f} a second with {args.in_flight} in flight")
        if requests.serialized_by:
            print(f"{'':10}one at a time because of {' and '.join(requests.serialized_by)}")


def _check_in_flight(args: argparse.Namespace) -> None:
    """Raise UsageError for --in-flight without what it needs."""
    if args.in_flight and not args.repeat:
        raise UsageError("--in-flight needs --repeat, the number of executions")
    if args.in_flight and args.in_flight > MAX_THREADS:
        raise UsageError(
            f"argument --in-flight: {args.in_flight} is more than {MAX_THREADS}, the most there can be"
        )


def _fresh(inputs: list[Input], written: Collection[int]) -> list[Any]:
    """What the method writes to is shown before and after, and every run starts from the same."""
    return [given.value.copy() if index in written else given.value for index, given in enumerate(inputs)]


class _Requests:
    """Executions of a method, of which a number is in flight at any time."""

    def __init__(self, method: Method, inputs: list[Input], repeat: int, in_flight: int) -> None:
        """Raises what the first execution raises that fails."""
        # Imported here because starting is part of the time that a run takes.
        from threading import Semaphore

        from et_vm.run.requests import Executor, Request

        self.serialized_by = list(method.serialized_by)
        self.values: list[Any] = []
        """The inputs of the last execution."""
        self.seconds = [0.0] * repeat
        errors: list[BaseException] = []
        places = Semaphore(in_flight)

        def end(request: Future[Any], at: int, start: float) -> None:
            self.seconds[at] = time.perf_counter() - start
            error = None if request.cancelled() else request.exception()
            if error is not None:
                errors.append(error)
            places.release()

        request: Request | None = None
        with Executor(in_flight) as executor:
            executor.prepare(method)
            first = time.perf_counter()
            for at in range(repeat):
                places.acquire()
                if errors:
                    raise errors[0]
                self.values = _fresh(inputs, method.written_inputs)
                start = time.perf_counter()
                request = executor.submit(method, self.values)
                request.add_done_callback(partial(end, at=at, start=start))
        self.elapsed = time.perf_counter() - first
        """Seconds that all together took."""
        if errors:
            raise errors[0]
        assert request is not None
        self.outputs = request.result()
        """Those of the last execution."""


def _open(args: argparse.Namespace) -> Program | TextProgram:
    if not args.file.endswith(".mlir"):
        if args.weights is not None:
            raise UsageError(f"--weights applies to .mlir input only; {args.file} contains its weights")
        return open_program(args.file, chosen_platform(args))
    from et_tools.vm_run_text import open_text

    return open_text(args)


def _load(program: Program | TextProgram, name: str, args: argparse.Namespace) -> Method | EvaluatedMethod:
    if not isinstance(program, Program):
        return program.load(name, args)
    return program.load_method(
        name,
        kernels=chosen_kernels(args, args.kernels),
        backends=chosen_backends(args),
        native=chosen_native(args),
        poison=args.poison,
        external=open_data(args),
        instruction_limit=args.instruction_limit or MAX_INSTRUCTIONS,
    )


def _description(program: Program | TextProgram, name: str, kernels: str) -> str:
    if not isinstance(program, Program):
        return f"{program.level} level, reference evaluation"
    return f"{count(program.method_meta(name).num_instructions(), 'instruction')}, {kernels} kernels"


def _with_source(error: InputError, inputs: list[Input], program: Program | TextProgram) -> InputError:
    """The error with the file the input is from."""
    label, _, index = (error.where or "").partition(" ")
    if label == "input" and index.isdecimal():
        error.where = f"{error.where} ({inputs[int(index)].source})"
        if isinstance(program, Program):
            error.hint = error.hint or "et-vm info shows the inputs of the method"
    return error


def _plain(value: Any) -> Any:
    """An array whose type every reader of numpy files knows: bfloat16 and float8 become float32, which
    holds them exactly.
    """
    array = np.asarray(value)
    return array.astype(np.float32) if is_registered(array.dtype) else array


def _write(results: list[tuple[str, Any]], folder: Path) -> list[Path]:
    """Write all results to files of their names, or if something fails none."""
    from et_schema.files import atomic_files

    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{label.replace(' ', '_')}.npy" for label, _ in results]
    for path in files:
        check_output(str(path))
    with atomic_files() as written:
        for path, (_, value) in zip(files, results, strict=True):
            np.save(_Sink(written.open(path).write), _plain(value), allow_pickle=False)
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
    title: str,
    memory: dict[str, int],
    inputs: list[Input],
    results: list[tuple[str, Any]],
    files: list[Path],
    width: int,
) -> None:
    print(fit(title, width))
    for index, given in enumerate(inputs):
        _print_value(f"input {index}", given.value, given.source, width)
    for index, (label, value) in enumerate(results):
        after = "after  " if label.startswith("input") else ""
        _print_value(label, value, after + _range(value), width)
        if isinstance(value, np.ndarray):
            print(fit(f"{'':10}{_preview(value)}", width))
        if files:
            print(f"{'':10}{fit(str(files[index]), width - 10)}")
    parts = [f"{label} {show_bytes(size)}" for label, size in memory.items() if size]
    if memory:
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
