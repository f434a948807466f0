"""Compilation and checks of a cell, in a process of its own."""

from __future__ import annotations

import math
import os
import platform
import resource
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from xdsl.dialects.builtin import ModuleOp

__all__ = ["compile_cell", "inputs_of", "load_method", "machine"]


def compile_cell(request: Mapping[str, Any]) -> dict[str, Any]:
    """Compile as `et-compile MODEL ARGUMENTS` does, run the file on its example inputs, and compare with torch.

    `request` has the `model`, its `arguments`, the `folder` that they are relative to, the folder of the `cache` or
    None, the number of `threads`, and the `seed` of random inputs. The result has `columns` of the row and, unless it
    failed, the `file` and its `inputs`. A failure is a column, not an exception.
    """
    from et_ir.diagnostics import diagnostics_of
    from et_tools.exit_codes import UsageError
    from et_tools.failures import INPUT_ERRORS
    from et_tools.messages import name_command

    name_command("et-compile")
    os.chdir(request["folder"])
    sys.path.insert(0, request["folder"])
    try:
        with TemporaryDirectory(prefix="et-sweep-") as folder:
            return _compile(request, Path(folder))
    except (UsageError, *INPUT_ERRORS) as error:
        found = (
            [str(error)] if isinstance(error, UsageError) else [d.message for d in diagnostics_of(error, "")]
        )
        message = "\n".join(dict.fromkeys(found))
    except BaseException as error:
        message = "".join(traceback.format_exception_only(error)).strip()
        print("".join(traceback.format_exception(error)), file=sys.stderr)
    return {"columns": {"compiled": False, "message": message, **_peak(), **_environment()}}


def _compile(request: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    from et_tools.compile_options import parse_options
    from et_tools.et_compile import compile_program

    file = folder / "model.pte"
    cache = ["--no-cache"] if request["cache"] is None else [f"--cache={request['cache']}"]
    args = parse_options("", [request["model"], *request["arguments"], *cache, "-o", str(file), "--quiet"])
    facts = _recorder()
    started = time.perf_counter()
    compile_program(args, facts, listeners=[])
    seconds = time.perf_counter() - started
    data = file.read_bytes()
    columns: dict[str, Any] = {
        "compiled": True,
        "message": None,
        "compile_seconds": seconds,
        "stage_seconds": facts.seconds,
        "file_bytes": len(data),
        **facts.columns(),
        **_peak(),
        **_environment(),
    }
    result: dict[str, Any] = {"columns": columns, "file": data}
    if data[4:6] == b"ET":
        result |= _run(request, args, file, columns)
    return result


def _recorder() -> Any:
    """An observer that takes down times of stages, counts of operators and planned memory."""
    from et_tools.compile_stages import Stages

    class Recorder(Stages):
        def __init__(self) -> None:
            super().__init__(quiet=True)
            self.seconds: dict[str, float] = {}
            self.arena: int | None = None
            self.bound: int | None = None

        def done(self, stage: str, note: str = "") -> None:
            self.seconds[stage] = time.perf_counter() - self.last
            super().done(stage, note)

        def reached(self, level: str, module: ModuleOp) -> None:
            super().reached(level, module)
            if level == "executorch":
                self.arena, self.bound = _arena(module)
                self.last = time.perf_counter()

        def columns(self) -> dict[str, Any]:
            before, after = self.levels.get("edge"), self.levels.get("backend")
            share = None
            calls = 0
            if before is not None and after is not None:
                calls = after["call"]
                share = 1 - (after.total() - calls) / before.total() if before.total() else 0.0
            return {
                "delegated_share": share,
                "partitions": calls,
                "arena_bytes": self.arena,
                "arena_bound_bytes": self.bound,
            }

    return Recorder()


def _arena(module: ModuleOp) -> tuple[int, int]:
    """Bytes of the arenas of all methods, and their certificate: what no plan can be smaller than."""
    from et_ir.passes.memory.plan_memory import PlanMemoryPass
    from et_ir.passes.memory.plan_memory.instances import planned_arenas
    from et_ir.planning import lower_bound

    arenas = planned_arenas(module, PlanMemoryPass.alignment)
    sizes = [one.layout.size for one in arenas]
    bounds = [min(lower_bound(one.instance.buffers), one.layout.size) for one in arenas]
    return sum(sizes), sum(bounds)


def machine() -> str:
    """The name of this machine and its processor."""
    from et_vm.devtools.machine_peak import processor_name

    return f"{platform.node()}: {processor_name()}"


def _environment() -> dict[str, Any]:
    from et_ir.cache.dependences import versions

    return {"machine": machine(), "versions": versions()}


def _peak() -> dict[str, int]:
    return {"peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def _run(
    request: Mapping[str, Any], args: argparse.Namespace, file: Path, columns: dict[str, Any]
) -> dict[str, Any]:
    """Run the file, and add the columns of its accuracy; why it cannot be run is one too."""
    from et_ir.targets.lookup import find_target
    from et_schema.errors import ExecutorchError
    from et_tools.exit_codes import UsageError

    kernels = find_target(args.target).vm_kernels or "portable"
    reference = _reference(args)
    columns |= {"error": None, "sqnr": None, "run_message": None}
    setting = {"kernels": kernels, "load": args.load, "threads": request["threads"]}
    try:
        loaded, method = load_method(file.read_bytes(), setting)
        given = reference[method][0] if method in reference else None
        inputs = inputs_of(loaded, given, request["seed"])
        outputs = loaded[1].execute([_copied(one) for one in inputs])
    except (ExecutorchError, UsageError) as error:
        columns["run_message"] = str(error)
        return {}
    if method in reference:
        columns |= _accuracy(outputs, reference[method][1])
    return {"run": setting, "inputs": given}


def load_method(data: bytes, setting: Mapping[str, Any]) -> tuple[tuple[Any, Any], str]:
    """The program in a file and its method `forward`, or its only one, loaded for the kernels, files and threads of
    `setting`; and the name of the method. Machine code may run: it was compiled here.

    Raises `UsageError`, and what loading raises.
    """
    import argparse as parsing

    from et_tools.vm_backends import chosen_backends
    from et_tools.vm_inputs import method_name
    from et_tools.vm_kernels import chosen_kernels
    from et_vm.backend import NativeOptions
    from et_vm.program import Program

    program = Program.load(data)
    method = method_name(program, None)
    given = parsing.Namespace(load=setting["load"], kernels=setting["kernels"])
    loaded = program.load_method(
        method,
        kernels=chosen_kernels(given, setting["kernels"]),
        backends=chosen_backends(given),
        native=NativeOptions(True, setting["threads"]),
    )
    return (program.method_meta(method), loaded), method


def inputs_of(loaded: tuple[Any, Any], given: Sequence[Any] | None, seed: int) -> list[Any]:
    """The inputs given, or random ones. Raises `UsageError`."""
    from et_tools.vm_inputs import method_inputs

    if given is not None:
        return list(given)
    return [one.value for one in method_inputs(loaded[0], [f"random:{seed}"])]


def _copied(value: Any) -> Any:
    return value.copy() if hasattr(value, "copy") else value


def _reference(args: argparse.Namespace) -> dict[str, tuple[list[Any], list[Any]]]:
    """Example inputs and what torch computes of them, by method, of the model before it is quantized; of language
    models and compiled files there is none.
    """
    from et_tools.example_inputs import example_inputs
    from et_tools.loading import export_factory, load_pt2, run_program

    if args.model.endswith(".pt2"):
        programs = {"forward": load_pt2(Path(args.model))}
    elif ":" in args.model and not args.model.startswith("hf:"):
        programs, _ = export_factory(args.model)
    else:
        return {}
    found: dict[str, tuple[list[Any], list[Any]]] = {}
    for method, program in programs.items():
        if program.example_inputs:
            inputs = example_inputs(program)
            found[method] = inputs, run_program(method, program, inputs)
    return found


def _accuracy(outputs: Sequence[Any], expected: Sequence[Any]) -> dict[str, Any]:
    """The largest relative error of a result, and the smallest signal to noise ratio in dB. None for no ratio: equal
    results; an error that is no number is the text `nan` or `inf`.
    """
    from et_vm.devtools.gaps import gap_between

    if len(outputs) != len(expected):
        return {"run_message": f"{len(outputs)} results, torch has {len(expected)}"}
    gaps = [gap_between(ours, theirs) for ours, theirs in zip(outputs, expected, strict=True)]
    error = max((one.relative for one in gaps), default=0.0)
    sqnr = min((one.sqnr for one in gaps), default=math.inf)
    return {"error": _finite(error), "sqnr": None if sqnr == math.inf else _finite(sqnr)}


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
