"""Executions without a tracer: nothing of observation is loaded or called."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
from support.vm_programs import Build, chain_of_adds, load

from et_vm.run import interpreter
from et_vm.tracer import RecordingTracer


def double() -> Build:
    build = Build()
    x, y = build.tensor(2), build.tensor(2)
    build.add(x, x, y)
    build.inputs(x)
    build.outputs(y)
    return build


def test_hooks_are_loaded_for_tracers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "et_vm.run.observation", None)
    assert load(double()).execute([np.ones(2, np.float32)])[0].tolist() == [2, 2]
    with pytest.raises(ImportError):
        load(double(), tracer=RecordingTracer())


def calls(length: int) -> list[str]:
    """The functions of the interpreter that an execution of so many instructions calls."""
    method = load(chain_of_adds(length))
    inputs = [np.ones(4, np.float32)]
    for _ in range(3):
        method.execute(inputs)
    called: list[str] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and Path(frame.f_code.co_filename).parent == Path(interpreter.__file__).parent:
            called.append(frame.f_code.co_name)

    sys.setprofile(profile)
    try:
        method.execute(inputs)
    finally:
        sys.setprofile(None)
    return called


def test_an_instruction_costs_no_call_beside_its_kernel() -> None:
    assert calls(50) == calls(2)
    assert "run_straight" in calls(2)
