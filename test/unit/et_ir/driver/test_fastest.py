"""Choice among backends by time, with a clock of the test's, and once with the runtime's."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
import torch
from torch import nn
from xdsl.dialects.builtin import ModuleOp

from et_ir.analysis.choices import Choice, ExplainingContext, explained
from et_ir.backends import make_partitioner
from et_ir.delegation.backends_by_name import split_backends
from et_ir.driver import fastest
from et_ir.driver.delegate import delegate_module
from et_ir.driver.pipelines import aten_passes, core_aten_passes, edge_passes
from et_ir.driver.stages import run_passes
from et_ir.frontend import import_program
from et_vm.backends.timing import program_times

BACKENDS = ("tosa", "coreml", "nested")
IDS = ("TOSABackend", "CoreMLBackend", "NestedProgramBackend")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "executorch-ir" / "backend-times.json"


class Clock:
    """Says of the programs that it is asked about the times that the test wants."""

    def __init__(self, *seconds: float | None) -> None:
        self.seconds = seconds
        self.asked: list[list[bytes]] = []

    def __call__(self, programs: Sequence[bytes]) -> list[float | None]:
        self.asked.append(list(programs))
        return list(self.seconds[: len(programs)])


def edge_of(function: Callable[..., Any], *inputs: Any) -> ModuleOp:
    class Module(nn.Module):
        def forward(self, *arguments: torch.Tensor) -> Any:
            return function(*arguments)

    with warnings.catch_warnings(action="ignore"):
        module = import_program(torch.export.export(Module(), inputs))
    run_passes(module, [*aten_passes(), *core_aten_passes(), *edge_passes()])
    return module


def chosen(
    module: ModuleOp, clock: Clock, monkeypatch: pytest.MonkeyPatch, backends: Sequence[str] = BACKENDS
) -> tuple[list[str], list[Choice]]:
    """The backends of the partitions, and what is noted."""
    monkeypatch.setattr(fastest, "time_programs", clock)
    context = ExplainingContext()
    with explained(context):
        report = delegate_module(module, [make_partitioner(one) for one in backends], choose="fastest")
    assert [op.backend.data for op in module.walk() if op.name == "backend.lowered"] == [
        backend for _, backend, _ in report.partitions
    ]
    return [backend for _, backend, _ in report.partitions], context.choices


@pytest.mark.parametrize("number", range(3))
def test_the_fastest_is_taken(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(*(1.0 if at == number else 2.0 for at in range(3)))
    found, (choice,) = chosen(edge_of(lambda x: torch.relu(x) + x, torch.randn(4)), clock, monkeypatch)
    assert found == [IDS[number]]
    assert (choice.op, choice.chosen, choice.measured) == ("partition of 2 ops", IDS[number], True)
    assert [one.name for one in choice.candidates] == list(IDS)
    assert [one.seconds for one in choice.candidates] == list(clock.seconds)


def test_times_are_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(3.0, 1.0, 2.0)
    module = edge_of(lambda x: torch.relu(x) + x, torch.randn(4))
    first, _ = chosen(module.clone(), clock, monkeypatch)
    again, _ = chosen(module, clock, monkeypatch)
    assert first == again == ["CoreMLBackend"]
    assert len(clock.asked) == 1
    assert list(json.loads(cache.read_text()).values()) == [dict(zip(IDS, clock.seconds, strict=True))]
    other = edge_of(lambda x: torch.relu(x) + x, torch.randn(5))
    chosen(other, clock, monkeypatch)
    assert len(clock.asked) == 2


def test_only_backends_that_take_all_of_a_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    module = edge_of(lambda x: torch.sort(torch.relu(x))[0], torch.randn(4))
    clock = Clock(2.0, 1.0)
    found, choices = chosen(module, clock, monkeypatch, ("nested", "tosa"))
    assert (found, choices, clock.asked) == (["NestedProgramBackend"], [], [])
    found, (choice,) = chosen(
        edge_of(lambda x: torch.sort(torch.relu(x))[0], torch.randn(4)),
        clock,
        monkeypatch,
        ("tosa", "nested"),
    )
    assert found == ["NestedProgramBackend"] * 2
    assert choice.chosen == "NestedProgramBackend"


def test_backends_that_cannot_be_executed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module = edge_of(lambda x: torch.relu(x) + x, torch.randn(4))
    found, (choice,) = chosen(module, Clock(None, 2.0, 3.0), monkeypatch)
    assert found == ["CoreMLBackend"]
    assert choice.candidates[0].seconds is None
    module = edge_of(lambda x: torch.relu(x) - x, torch.randn(4))
    found, choices = chosen(module, Clock(None, None, None), monkeypatch)
    assert (found, choices) == (["TOSABackend"], [])
    assert "no backend of a partition can be executed here" in caplog.text


def test_one_backend_with_several_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    module = edge_of(lambda x: torch.relu(x) + x, torch.randn(4))
    found, (choice,) = chosen(module, Clock(2.0, 1.0), monkeypatch, ("coreml", "coreml:precision=f16"))
    assert found == ["CoreMLBackend"]
    assert choice.chosen == "CoreMLBackend 2"
    (lowered,) = (op for op in module.walk() if op.name == "backend.lowered")
    assert "float16" in str(lowered.properties["specs"])


def test_times_of_the_runtime() -> None:
    """Programs take turns; one that cannot be executed does not end the others."""
    module = edge_of(lambda x: torch.relu(x) + x, torch.randn(4))
    programs = [
        fastest._compiled(module, make_partitioner(name), delegate_module)  # pyright: ignore[reportPrivateUsage]
        for name in ("tosa", "nested")
    ]
    assert all(programs)
    start = perf_counter()
    good, bad, other = program_times([programs[0] or b"", b"nothing", programs[1] or b""])
    elapsed = perf_counter() - start
    assert 0 < float(good["seconds"]) < elapsed
    assert 0 < float(other["seconds"]) < elapsed
    assert "error" in bad
    assert "seconds" not in bad


def test_a_process_that_fails(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    assert fastest.time_programs([b"x", b"y"]) == [None, None]
    assert "the times of backends cannot be taken" in caplog.text


@pytest.mark.parametrize(
    ("text", "backends"),
    [
        ("native", ["native"]),
        ("native,openvino,tosa", ["native", "openvino", "tosa"]),
        (
            "openvino:device=CPU,precision=fast,tosa:min=2",
            ["openvino:device=CPU,precision=fast", "tosa:min=2"],
        ),
        ("tosa,openvino:device=CPU", ["tosa", "openvino:device=CPU"]),
    ],
)
def test_several_backends_in_one_text(text: str, backends: list[str]) -> None:
    assert split_backends(text) == backends
