"""Selection of the fastest backend for each partition by measurement.

Of the backends that can take all of a partition, the one with the shortest time gets it. Each backend compiles the
partition separately, and a process of the runtime times the programs in turns. Times are cached in a file in the
user's cache folder.
"""

from __future__ import annotations

import json
import logging
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from io import StringIO
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from et_ir.analysis.bounds import SizeBounds
from et_ir.analysis.choices import Candidate, Choice, explained, note, shapes_of
from et_ir.analysis.time_cache import TimeCache, Times, processor_digest, source_digest
from et_ir.delegation.partitioner import Partitioner
from et_ir.delegation.subprogram import subprogram
from et_ir.delegation.why_not import DelegationReport
from et_ir.diagnostics import PassReport
from et_ir.dialects.backend import PartitionOp
from et_ir.dialects.backend.attributes import CompileSpecAttr
from et_ir.dialects.program import Globals
from et_ir.text import print_module
from et_schema.processes import python
from et_schema.wording import in_words

__all__ = ["choose_fastest", "time_programs"]

_LOG: Final = logging.getLogger(__name__)
_LIMIT: Final = 600
"""Seconds after which the process that takes times is ended."""
_PACKAGES: Final = ("executorch-ir", "llvmlite", "numpy", "openvino")
"""Packages whose versions change times."""

_CACHE: Final = TimeCache("backend-times.json", "the cache of backends' times", bool)

Timer: TypeAlias = Callable[[Sequence[bytes]], Sequence[float | None]]
"""Seconds of an execution of each file; None where one cannot be executed here."""


Delegate: TypeAlias = "Callable[..., DelegationReport]"
"""Delegates what partitioners take of a module: `et_ir.driver.delegate.delegate_module`."""


class _Form(NamedTuple):
    """A partition as a backend has it."""

    name: str
    backend_id: str
    specs: ArrayAttr[CompileSpecAttr]
    partitioner: Partitioner


def choose_fastest(
    module: ModuleOp,
    partitioners: Sequence[Partitioner],
    delegate: Delegate,
    *,
    timer: Timer | None = None,
) -> dict[int, str]:
    """Assign each partition of a module to the fastest backend that can take all of it.

    The module has partitions, made by partitioners in their order of priority; a partition stays where it is when no
    other backend takes it whole, or none can be executed here. Notes each choice (`et_ir.analysis.choices`).
    `delegate` is `delegate_module`.

    Returns the ids of the backends of all partitions, by their numbers in the order of the program.
    """
    symbols = Globals(module)
    known = _CACHE.read()
    found: dict[int, str] = {}
    for method in [op for op in module.body.block.ops if isinstance(op, FuncOp)]:
        bounds = SizeBounds(method.body.block)
        for partition in [op for op in method.walk() if isinstance(op, PartitionOp)]:
            program = subprogram(partition, symbols, bounds)
            _choose(partition, program, partitioners, known, delegate, timer or time_programs)
            found[len(found)] = partition.backend.data
    return found


def _choose(
    partition: PartitionOp,
    program: ModuleOp,
    partitioners: Sequence[Partitioner],
    known: dict[str, Times],
    delegate: Delegate,
    timer: Timer,
) -> None:
    forms: list[_Form] = []
    for one in partitioners:
        form = _form(program, one, delegate)
        if form is not None:
            # The same backend with other settings is another one.
            same = sum(other.backend_id == form.backend_id for other in forms)
            forms.append(form._replace(name=f"{form.name} {same + 1}") if same else form)
    if len(forms) < 2:
        return
    key = _key(program, forms)
    times = known.get(key)
    if times is None:
        times = _times(program, forms, delegate, timer)
        if not times:
            _LOG.warning("no backend of a partition can be executed here: it stays with the first")
            return
        known[key] = times
        _CACHE.write({**_CACHE.read(), key: times})
    chosen = min((form for form in forms if form.name in times), key=lambda form: times[form.name])
    partition.backend = StringAttr(chosen.backend_id)
    partition.properties["specs"] = chosen.specs
    count = sum(1 for _ in partition.body.block.ops) - 1
    candidates = tuple(Candidate(form.name, times.get(form.name)) for form in forms)
    note(
        Choice(
            f"partition of {in_words(count, 'op')}",
            shapes_of(partition),
            partition.location,
            candidates,
            chosen.name,
            measured=True,
        )
    )


def _form(program: ModuleOp, partitioner: Partitioner, delegate: Delegate) -> _Form | None:
    """The program as one partition of a backend; None where it does not take all of it."""
    module = program.clone()
    with explained(None):  # a trial is none of what the user asks about
        report = delegate(module, [partitioner], compile=False)
    found = [op for op in module.walk() if isinstance(op, PartitionOp)]
    if report.left_out or len(found) != 1:
        return None
    backend_id = found[0].backend.data
    specs = found[0].specs or ArrayAttr[CompileSpecAttr]([])
    return _Form(backend_id, backend_id, specs, partitioner)


def _times(program: ModuleOp, forms: Sequence[_Form], delegate: Delegate, timer: Timer) -> Times:
    """Seconds by form, of those that can be compiled and executed here."""
    files = {form.name: _compiled(program, form.partitioner, delegate) for form in forms}
    made = {name: file for name, file in files.items() if file is not None}
    taken = timer(list(made.values()))
    return {name: seconds for name, seconds in zip(made, taken, strict=True) if seconds is not None}


def _compiled(program: ModuleOp, partitioner: Partitioner, delegate: Delegate) -> bytes | None:
    """A file of the program, delegated to one backend; None where the backend fails, or et-vm does not have it."""
    from et_ir.delegation.backends_by_name import details_of
    from et_ir.delegation.specs import CompileSpec

    module = program.clone()
    try:
        with explained(None):
            delegate(module, [partitioner])
            made = details_of("NestedProgramBackend").preprocess(module, [CompileSpec("share", b"0")])
    except PassReport as error:
        _LOG.warning("a backend is not among those that a partition can go to: %s", error)
        return None
    assert isinstance(made.processed_bytes, bytes)
    return made.processed_bytes


def time_programs(programs: Sequence[bytes]) -> list[float | None]:
    """The least seconds of an execution of each program on one thread, by a process of the runtime; None where the
    runtime cannot execute it.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.pte" for number in range(len(programs))]
        for path, program in zip(paths, programs, strict=True):
            path.write_bytes(program)
        command = python("-m", "et_vm.backends.timing", *map(str, paths))
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            _LOG.warning("the times of backends cannot be taken: %s", error)
            return [None] * len(programs)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        _LOG.warning("the times of backends cannot be taken: %s", lines[-1] if lines else done.returncode)
        return [None] * len(programs)
    found: list[Mapping[str, float | str]] = json.loads(done.stdout)
    made: list[float | None] = []
    for one in found:
        seconds = one.get("seconds")
        if seconds is None:
            _LOG.warning("a backend cannot be executed here: %s", one.get("error"))
        made.append(None if seconds is None else float(seconds))
    return made


def _key(program: ModuleOp, forms: Sequence[_Form]) -> str:
    """A hash of a partition, the backends, the compiler and the processor."""
    text = StringIO()
    print_module(program, text)
    backends = [f"{form.backend_id} {form.specs}" for form in forms]
    return sha256("\n".join([_place(), *backends, text.getvalue()]).encode()).hexdigest()


@cache
def _place() -> str:
    versions = [f"{name} {_version(name)}" for name in _PACKAGES]
    sources = source_digest("et_backends", "et_ir.backends", "et_vm.backends")
    return " ".join([*versions, sources, processor_digest()])


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"
