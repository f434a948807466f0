"""Tuning: times of convolution algorithms on this machine, in place of the cost model's estimates.

A partition is compiled with each algorithm, and a process of the runtime takes the time of each kernel, beside the
kernels that are its neighbors. Times are kept in a file in the user's cache folder.
"""

from __future__ import annotations

import json
import logging
import platform
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any, Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.printer import Printer

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.object_code import INSTRUCTION_SETS, InstructionSet
from et_backends.codegen.passes.choose_algorithms import ALGORITHMS, has_choice, set_seconds
from et_backends.codegen.pipeline import observed
from et_ir.analysis.choices import explained
from et_ir.analysis.time_cache import TimeCache, Times, processor_digest, source_digest
from et_ir.delegation.details import BackendDetails
from et_ir.delegation.partitioner import Partitioner
from et_schema.processes import python

__all__ = ["TuningFailed", "add_times", "cache_file", "sets_here", "time_kernels"]

_LOG: Final = logging.getLogger(__name__)
_LIMIT: Final = 600
"""Seconds after which the process that takes times is ended."""


class TuningFailed(Exception):
    """The times of kernels cannot be taken on this machine."""


def add_times(
    module: ModuleOp,
    program: ModuleOp,
    *,
    partitioners: Sequence[Partitioner],
    details: type[BackendDetails],
) -> None:
    """Give the kernels of a module that have a choice of algorithms their times on this machine.

    `program` is the module before kernels were formed, `partitioners` take all of it, each with another algorithm.
    Where times cannot be taken, a warning is logged, and estimates remain.
    """
    kernels = _with_choice(module)
    keys = [_key(kernel) for kernel in kernels]
    known = _CACHE.read()
    if any(key not in known for key in keys):
        try:
            taken = _least(keys, _times(program, partitioners, details, len(keys)))
        except TuningFailed as error:
            _LOG.warning("native backend: no tuning, algorithms are chosen by the cost model: %s", error)
            return
        known = {**_CACHE.read(), **taken}
        _CACHE.write(known)
    for kernel, key in zip(kernels, keys, strict=True):
        set_seconds(kernel, known[key])


def sets_here(names: Sequence[str]) -> list[str]:
    """Those of the instruction sets that are of this machine's architecture."""
    return [name for name in names if INSTRUCTION_SETS[name].triple.startswith(platform.machine() + "-")]


def _with_choice(module: ModuleOp) -> list[KernelOp]:
    return [kernel for kernel in _kernels(module) if has_choice(kernel)]


def _kernels(module: ModuleOp) -> list[KernelOp]:
    """In the order of their numbers."""
    method = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    return [op for op in method.body.block.ops if isinstance(op, KernelOp)]


def _least(keys: Sequence[str], times: Sequence[Times]) -> dict[str, Times]:
    """The times by key, the least of kernels that are equal."""
    found: dict[str, Times] = {}
    for key, one in zip(keys, times, strict=True):
        before = found.get(key, one)
        found[key] = {form: min(seconds, before[form]) for form, seconds in one.items()}
    return found


def _times(
    program: ModuleOp, partitioners: Sequence[Partitioner], details: type[BackendDetails], count: int
) -> list[Times]:
    """The times of the kernels with a choice, of which there are `count`."""
    compiled = [_compiled(program, partitioner, details) for partitioner in partitioners]
    found: list[Times] = [{} for _ in range(count)]
    taken = time_kernels([file for file, _ in compiled])
    for (_, forms), seconds in zip(compiled, taken, strict=True):
        if len(forms) != count or any(number not in seconds for number in forms):
            raise TuningFailed("the partition is not one partition when it is compiled alone")
        for times, (number, form) in zip(found, forms.items(), strict=True):
            times[form] = seconds[number]
    return found


def _compiled(
    program: ModuleOp, partitioner: Partitioner, details: type[BackendDetails]
) -> tuple[bytes, dict[int, str]]:
    """A file of the program, and the forms of those kernels that have a choice, by number."""
    from et_backends.nested.compiler import NestedProgramBackend
    from et_ir.delegation.specs import CompileSpec
    from et_ir.driver.delegate import delegate_module

    forms: dict[int, str] = {}

    class Recording(details):
        @classmethod
        def preprocess(cls, edge_program: ModuleOp, compile_specs: Sequence[CompileSpec]) -> Any:
            result = details.preprocess(edge_program, compile_specs)
            for number, kernel in enumerate(_kernels(edge_program)):
                if has_choice(kernel):
                    forms[number] = kernel.form.data
            return result

    module = program.clone()
    with explained(None), observed(_ignored):  # a trial is none of what the user asks about
        delegate_module(module, [partitioner], details_of=lambda _: Recording)
    made = NestedProgramBackend.preprocess(module, [CompileSpec("share", b"0")])
    assert isinstance(made.processed_bytes, bytes)
    return made.processed_bytes, forms


def _ignored(level: str, target: InstructionSet, module: ModuleOp) -> None:
    """No listener."""


def time_kernels(programs: Sequence[bytes]) -> list[dict[int, float]]:
    """The seconds of the kernels of each file on one thread, by their numbers.

    The runtime takes them in a process of its own. Raises TuningFailed.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.pte" for number in range(len(programs))]
        for path, program in zip(paths, programs, strict=True):
            path.write_bytes(program)
        command = python("-m", "et_backends.native.runtime.timing", *map(str, paths))
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise TuningFailed(str(error)) from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise TuningFailed(lines[-1] if lines else f"the runtime ended with {done.returncode}")
    return [{int(number): seconds for number, seconds in one.items()} for one in json.loads(done.stdout)]


# -- the cache


def _is_entry(times: Mapping[str, float]) -> bool:
    return set(times) == set(ALGORITHMS.values())


_CACHE: Final = TimeCache("native-tuning.json", "native backend: the tuning cache", _is_entry)


def cache_file() -> Path:
    """The file with the times: in `$XDG_CACHE_HOME`, or `~/.cache`."""
    return _CACHE.path


def _key(kernel: KernelOp) -> str:
    """A hash of a kernel, the compiler and the processor."""
    text = StringIO()
    types = [str(value.type) for value in (*kernel.operands, *kernel.results)]
    Printer(stream=text).print_region(kernel.clone().body)
    return sha256("\n".join([_place(), *types, text.getvalue()]).encode()).hexdigest()


@cache
def _place() -> str:
    """The compiler and the processor, on which the time of a kernel depends besides the kernel."""
    return f"{_compiler()} {_processor()}"


def _compiler() -> str:
    """A hash of the backend's modules, and the version of LLVM."""
    return source_digest("et_backends.codegen", "et_backends.native.compiler", version=version("llvmlite"))


def _processor() -> str:
    return processor_digest()
