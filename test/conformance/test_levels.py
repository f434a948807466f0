"""Every model at every level of `-O`: the same results as eager, on the stock runtime and on a poisoned VM."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from example_models import Model
from stock import StockRuntime
from support.accuracy import assert_accurate

from et_ir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from et_ir.driver.presets import DEFAULT, PRESETS
from et_schema.pte import read_pte
from et_vm.runtime import Runtime


@pytest.fixture(scope="session")
def at_level(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The file of a level."""
    made: dict[str, Path] = {}

    def file(level: str) -> Path:
        if level not in made:
            made[level] = tmp_path_factory.mktemp("levels") / f"{model.name}.O{level}.pte"
            edge = to_edge(model.program, compile_config=EdgeCompileConfig(level=level))
            edge.to_executorch(ExecutorchBackendConfig(level=level)).save(made[level])
        return made[level]

    return file


@pytest.mark.parametrize("level", sorted(PRESETS))
def test_results(model: Model, at_level: Callable[[str], Path], level: str, stock: StockRuntime) -> None:
    path = at_level(level)
    method = Runtime.get().load_program(path, poison=True).load_method("forward")
    assert_accurate(list(method.execute(model.inputs)), model.truth)
    assert_accurate(list(stock.run(path, model.inputs)), model.truth)


def test_arenas(at_level: Callable[[str], Path]) -> None:
    """Each level keeps to what it says of memory."""
    arenas = {
        level: sum(read_pte(at_level(level).read_bytes()).program.execution_plan[0].non_const_buffer_sizes)
        for level in PRESETS
    }
    assert arenas["s"] <= arenas[DEFAULT] <= arenas["2"]
    assert arenas["s"] <= arenas["0"]
