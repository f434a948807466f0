"""End-to-end runs of a sample: `torch.export`, compilation to a file, execution on every runtime."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from stock import StockError, StockRuntime

from et_ir import EdgeProgramManager, ExecutorchBackendConfig
from et_ir.diagnostics import PassReport
from et_ir.frontend import UnsupportedProgram
from et_ir.passes.verify.link_check import MissingKernels
from et_ir.targets.lookup import DEFAULT
from et_vm.interchange import to_torch
from et_vm.runtime import Runtime
from sweep.compare import TIES, difference, same_elements
from sweep.exactness import is_accurate, no_less_exact
from sweep.faults import explanation
from sweep.programs import NotExported, SamplePrograms
from sweep.reconstruct import FREE, reconstruction
from sweep.samples import Sample
from sweep.torch_faults import true_results

COLUMNS = ("portable", "aten", "stock")
"""The runtime of the file."""

Outcome = dict[str, str]
"""For each column "" when the results are torch's, else why they are not; no key where it does not apply, but
"lacking portable" with the kernels that are not there."""


def first_line(problem: BaseException) -> str:
    """The message of an exception, in a line."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return lines[0] if lines else type(problem).__name__


TARGETS = {DEFAULT: "stock", "et-vm": "portable", "et-vm-aten": "aten"}
"""The targets, from the narrowest to the widest, and the column that each adds."""


@dataclass(frozen=True)
class Compiled:
    """A file for the narrowest target that has its kernels, and by column what narrower targets lack."""

    file: bytes
    lacking: dict[str, str]


def _compiled(edge: EdgeProgramManager) -> Compiled:
    lacking: dict[str, str] = {}
    for target, column in TARGETS.items():
        try:
            file = edge.to_executorch(ExecutorchBackendConfig(target=target)).buffer
            return Compiled(file, lacking)
        except MissingKernels as missing:
            if column == "aten":
                raise
            lacking[column] = ", ".join(sorted({finding.subject for finding in missing.diagnostics}))
    raise AssertionError("the loop ends with the widest target")


def run_sample(sample: Sample, stock: StockRuntime | None, programs: SamplePrograms) -> Outcome:
    """The outcome of `sample` in each of `COLUMNS`, or under "export" or "compile" if it does not get that
    far.
    """
    with warnings.catch_warnings(action="ignore"):
        try:
            made = _compiled(programs.edge(sample))
        except NotExported as problem:
            return {"export": str(problem)}
        except Exception as problem:
            return {"compile": report(problem)}
    outcome: Outcome = {f"lacking {column}": names for column, names in made.lacking.items()}
    true = replace(sample, results=true_results(sample))
    for library, wanted in (("portable", true), ("aten", sample)):
        if library not in made.lacking:
            outcome[library] = _outcome(wanted, lambda library=library: _run(made.file, library, sample))
    if stock is not None and "stock" not in made.lacking:
        outcome["stock"] = _stock_outcome(true, stock, made.file)
    return outcome


def _stock_outcome(sample: Sample, stock: StockRuntime, file: bytes) -> str:
    """As of the others; what known faults of the stock runtime's kernels make of the file says so."""
    results: list[Any] = []

    def run() -> list[Any]:
        results.extend(_run_stock(stock, file, sample))
        return list(results)

    outcome = _outcome(sample, run)
    if not outcome.startswith("wrong: "):
        return outcome
    return explanation(file, sample.inputs, results) or outcome


def report(problem: Exception) -> str:
    """The compiler's diagnostic, without the parts that differ from sample to sample."""
    if isinstance(problem, UnsupportedProgram | PassReport):
        return "; ".join(sorted({f"{one.subject}: {one.message}" for one in problem.diagnostics}))
    return f"{type(problem).__name__}: {first_line(problem)}"


def _outcome(sample: Sample, run: Callable[[], list[Any]]) -> str:
    try:
        results = run()
    except Exception as problem:
        return f"{type(problem).__name__}: {first_line(problem)}"
    if sample.entry.partition("-")[0] in TIES:
        pairs = zip(results, sample.results, strict=False)
        results = [want if same_elements(sample.inputs[0], got, want) else got for got, want in pairs]
    wrong = difference(results, sample.results, random=sample.random, entry=sample.entry)
    if sample.entry in FREE and (wrong is not None or sample.random):
        wrong = reconstruction(sample, results)
    if wrong is not None and (no_less_exact(sample, results) or is_accurate(sample, results)):
        wrong = None
    return "" if wrong is None else f"wrong: {wrong}"


def _run(file: bytes, library: str, sample: Sample) -> list[Any]:
    method = Runtime.get().load_program(file, kernels=library).load_method("forward")
    results = method.execute([value.clone() for value in sample.inputs])
    # What takes no tensors gives none back.
    return [to_torch(value) if isinstance(value, np.ndarray) else value for value in results]


def _run_stock(stock: StockRuntime, file: bytes, sample: Sample) -> list[Any]:
    with tempfile.NamedTemporaryFile(suffix=".pte") as held:
        held.write(file)
        held.flush()
        try:
            return stock.run(Path(held.name), sample.inputs)
        except StockError as problem:
            raise StockError(_stock_reason(str(problem))) from None


def _stock_reason(text: str) -> str:
    """The stock runtime's own complaint: the first line of its log that is one."""
    for line in text.splitlines():
        found = re.match(r"\[(\S+\.(?:cpp|h)):\d+\] (.*)", line)
        if found and "Loading" not in found[2]:
            return f"{found[1]}: {found[2]}"
    return text.splitlines()[0]
