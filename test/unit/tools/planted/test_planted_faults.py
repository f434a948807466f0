"""Twenty-one passes with a mistake: what checks passes, bisects, compares and reduces finds each."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from support.command_line import Command
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from et_ir.driver.configs import EdgeCompileConfig, ExecutorchBackendConfig
from et_ir.driver.stages import backend_stage, edge_stages, executorch_stage, run_stages
from et_ir.frontend import import_program
from et_ir.text import print_module
from et_schema.diagnostics import Report
from et_schema.errors import ExecutorchError
from et_tools.check_passes import deviations
from et_tools.example_inputs import random_inputs
from et_tools.level_runs import LevelRunner
from et_tools.reduction import Reducer, count_ops

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


class Fault(NamedTuple):
    """A planted fault: its pass, the line of the model that is wrong, and lines of what reads its result."""

    name: str
    line: str
    readers: tuple[str, ...] = ()
    level: str = "edge"


FAULTS = (
    Fault("swapped-operands", "d = "),
    Fault("swapped-quotient", "r = "),
    Fault("lost-alpha", "c = "),
    Fault("off-by-one-pad", "f = "),
    Fault("dropped-relu", "b = ", ("c = ",)),
    Fault("wrong-scale", "h = "),
    Fault("wrong-function", "i = "),
    Fault("reversed-cat", "j = "),
    Fault("lost-permutation", "k = ", ("m = ",)),
    Fault("wrong-clamp", "g = "),
    Fault("mean-of-another", "m = "),
    Fault("swapped-branches", "p = "),
    Fault("wrong-comparison", "p = "),
    Fault("wrong-dimension", "q = "),
    Fault("wrong-quantization", "t = "),
    Fault("wrong-average", "e = "),
    Fault("turned-weight", "u = "),
    Fault("lost-bias", "a = "),
    Fault("wrong-sign", "w = ", ("return v",)),
    Fault("unsafe-reuse", "v = ", ("w = ", "return v"), "executorch"),
    Fault("overlapping-plan", "v = ", ("w = ", "return v"), "executorch"),
)


@cache
def model() -> Any:
    return importlib.import_module("model")


@cache
def line_numbers() -> dict[str, int]:
    """The line numbers of the model by how the lines begin."""
    source = inspect.getsource(model()).splitlines()
    return {line.strip(): number for number, line in enumerate(source, 1)}


def numbers(*starts: str) -> list[int]:
    return [n for start in starts for text, n in line_numbers().items() if text.startswith(start)]


@cache
def levels() -> dict[str, ModuleOp]:
    """The model at the levels that faults are planted at."""
    module, inputs = model().lines()
    program = import_program(torch.export.export(module, inputs))
    run_stages(program, edge_stages(EdgeCompileConfig()))
    found = {"edge": program.clone()}
    run_stages(
        program, [backend_stage(), executorch_stage(ExecutorchBackendConfig(target="et-vm", level="0"))]
    )
    found["executorch"] = program
    return found


@pytest.fixture
def texts(workplace: Path) -> Path:
    """The model as texts with locations, and its inputs."""
    for level, module in levels().items():
        with (workplace / f"{level}.mlir").open("w") as stream:
            print_module(module, stream, debuginfo=True)
        from et_ir.text import save_text, stored_constants

        text = (workplace / f"{level}.mlir").read_text()
        save_text(workplace / f"{level}.mlir", text, stored_constants(module))
    np.save(workplace / "x.npy", model().lines()[1][0].numpy())
    return workplace


def options(fault: Fault) -> list[str]:
    planted = ["--load", str(HERE / "wrong_passes.py"), "--pass", f"{fault.level}:{fault.name}"]
    return [f"{fault.level}.mlir", "-q", "--target", "et-vm", *planted]


def by_name(faults: tuple[Fault, ...]) -> Any:
    return pytest.mark.parametrize("fault", faults, ids=lambda fault: fault.name)


@by_name(FAULTS)
def test_checked_passes(command: Command, texts: Path, fault: Fault) -> None:
    ran = command("et-compile", *options(fault), "--check-passes=x.npy", "-o", "net.pte")
    assert ran.code == 1
    assert f"the pass '{fault.name}' changes results" in ran.err
    wanted = numbers(fault.line, *fault.readers)
    assert any(f"model.py:{number} " in ran.err for number in wanted), ran.err


@by_name(FAULTS)
def test_bisection(command: Command, texts: Path, fault: Fault) -> None:
    ran = command("et-bisect", *options(fault), "--input", "x.npy", "--bad", "relative>1e-4", "--json")
    assert ran.code == 0
    found = json.loads(ran.out)["found"]
    assert found["pass"] == fault.name
    lines = {change["source"][-1]["line"] for change in found["changes"] if change["source"]}
    if found["first_difference"] is not None:
        lines.add(found["first_difference"]["source"][-1]["line"])
    assert lines & set(numbers(fault.line)), found
    if fault.level == "edge":
        assert any(f"model.py:{number} " in found["what"] for number in numbers(fault.line)), found


@by_name(FAULTS)
def test_comparison(command: Command, texts: Path, fault: Fault) -> None:
    if fault.level == "edge":
        program = ("--debug-map", "map.json", "net.pte")
        line = ("et-compile", *options(fault), "-o", "net.pte", "--debug-map", "map.json")
    else:
        # A file of it would be refused: the verifier sees that registers overlap.
        program = ("net.mlir",)
        line = ("et-compile", *options(fault), "-o", "net.mlir", "-g", "--stop-after", fault.name)
    assert command(*line).code == 0
    ran = command("et-vm", "compare", *program, "edge.mlir", "--input", "x.npy", "--json")
    assert ran.code == 1
    first = json.loads(ran.out)["first"]
    assert first["source"][-1]["line"] in numbers(fault.line, *fault.readers), first


@pytest.mark.sweep
@pytest.mark.parametrize("backend", ["xnnpack", "native:values=1"])
@by_name(tuple(fault for fault in FAULTS if fault.level == "edge"))
def test_comparison_inside_delegates(command: Command, texts: Path, fault: Fault, backend: str) -> None:
    """The first value that differs is of the node or kernel that computes the line, alone or with others.

    Values of nodes of XNNPACK do not say the order of their dimensions: that one is wrong shows where they are cut.
    """
    line = ("et-compile", *options(fault), "-o", "net.pte", "--debug-map", "map.json", "--backend", backend)
    assert command(*line).code == 0
    given = ("--debug-map", "map.json", "--native", "--input", "x.npy", "--json")
    ran = command("et-vm", "compare", "net.pte", "edge.mlir", *given)
    assert ran.code == 1
    report = json.loads(ran.out)
    first = report["first"]
    lines = {one["source"][-1]["line"] for one in (first, *first["fused"])}
    readers = fault.readers
    if (fault.name, backend) == ("lost-permutation", "xnnpack"):
        readers = (*readers, "n = ")
    assert lines & set(numbers(fault.line, *readers)), first


@by_name(FAULTS)
def test_reduction(fault: Fault) -> None:
    one = getattr(
        importlib.import_module("wrong_passes"), CLASSES.get(fault.name, fault.name.replace("-", "_"))
    )()
    runner = LevelRunner()

    def is_wrong(module: ModuleOp) -> bool:
        """Whether the pass changes what a program computes."""
        after = module.clone()
        inputs = random_inputs(module)["forward"]
        try:
            one.apply(Context(), after)
            runs = [runner.run(each, inputs) for each in (after, module)]
        except (Report, ExecutorchError, ValueError, TypeError, AssertionError):
            return False
        return any(found.exceeds for found in deviations("forward", *runs))

    module = levels()[fault.level]
    reducer = Reducer(module, is_wrong)
    small = reducer.run()
    assert is_wrong(small)
    assert count_ops(small) <= 5, str(small)
    again = Reducer(module, is_wrong)
    if fault is FAULTS[0]:
        assert str(again.run()) == str(small)


CLASSES = {"unsafe-reuse": "UnsafeReusePass", "overlapping-plan": "OverlappingPlanPass"}
