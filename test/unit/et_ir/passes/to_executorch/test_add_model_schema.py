"""Schemas of programs, held against what the file says of itself and what it takes."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim, export

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.diagnostics import PassReport
from et_schema.errors import InputError
from et_vm.runtime import Program, Runtime


class Pairs(nn.Module):
    """Each row twice, and its columns' sums."""

    def forward(
        self, x: torch.Tensor, y: torch.Tensor, k: int
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return torch.cat([x, y, x]) * k, x.sum(0), torch.cat([x, y[:1]])


class Halves(nn.Module):
    """Columns in pairs."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(x.shape[0], -1, 2)


def _compiled(module: nn.Module, args: tuple[Any, ...], shapes: Any = None) -> tuple[Program, dict[str, Any]]:
    program = export(module.eval(), args, dynamic_shapes=shapes)
    edge = to_edge(program, constant_methods={"get_n": 3})
    compiled = edge.to_executorch(ExecutorchBackendConfig(model_schema=True))
    loaded = Runtime.get().load_program(compiled.buffer)
    (text,) = loaded.load_method("get_model_schema").execute()
    return loaded, json.loads(text)


def _bounds(loaded: Program) -> dict[str, list[tuple[int, ...] | str]]:
    meta = loaded.metadata("forward")
    inputs = range(meta.num_inputs())
    outputs = range(meta.num_outputs())
    tags = {"inputs": map(meta.input_tag, inputs), "outputs": map(meta.output_tag, outputs)}
    tensors = {"inputs": meta.input_tensor_meta, "outputs": meta.output_tensor_meta}
    return {
        side: [tensors[side](at).sizes() if tag == "Tensor" else tag for at, tag in enumerate(found)]
        for side, found in tags.items()
    }


def _check_against_file(loaded: Program, method: dict[str, Any]) -> None:
    """What the client checks when it loads the file: kinds, ranks, constants, and bounds of ranges."""
    for side, values in _bounds(loaded).items():
        assert len(method[side]) == len(values)
        for described, value in zip(method[side], values, strict=True):
            if described["kind"] != "Tensor":
                assert described["kind"] == value
                continue
            assert len(described["shape"]) == len(value)
            for size, bound in zip(described["shape"], value, strict=True):
                if size["kind"] == "constant":
                    assert 0 < size["value"] == bound
                else:
                    assert 1 <= size["range"]["min"] <= size["range"]["max"] <= bound
                    assert size["range"]["step"] > 0


def _size(method: dict[str, Any], side: str, tensor: int, dim: int) -> tuple[int, int, int]:
    found = method[f"{side}s"][tensor]["shape"][dim]["range"]
    return found["min"], found["max"], found["step"]


def test_static_sizes() -> None:
    loaded, schema = _compiled(nn.Linear(4, 3), (torch.ones(2, 4),))
    assert schema == {
        "forward": {
            "inputs": [
                {
                    "kind": "Tensor",
                    "dtype": "float32",
                    "shape": [{"kind": "constant", "value": 2}, {"kind": "constant", "value": 4}],
                }
            ],
            "outputs": [
                {
                    "kind": "Tensor",
                    "dtype": "float32",
                    "shape": [{"kind": "constant", "value": 2}, {"kind": "constant", "value": 3}],
                }
            ],
            "runtimeConstraints": [],
        }
    }
    _check_against_file(loaded, schema["forward"])


def test_ranges_and_constraints() -> None:
    n = Dim("n", min=3, max=64)
    args = (torch.ones(4, 3), torch.ones(4, 3), 2)
    loaded, schema = _compiled(Pairs(), args, {"x": {0: n}, "y": {0: n}, "k": None})
    method = schema["forward"]
    _check_against_file(loaded, method)
    assert [one["kind"] for one in method["inputs"]] == ["Tensor", "Tensor", "Int"]
    assert _size(method, "input", 0, 0) == (3, 64, 1)
    assert _size(method, "output", 0, 0) == (9, 192, 3)
    assert _size(method, "output", 2, 0) == (4, 65, 1)

    def place(side: str, tensor: int) -> dict[str, Any]:
        return {"paramSide": side, "tensorIdx": tensor, "dimIdx": 0}

    equal, *lines = method["runtimeConstraints"]
    assert equal == {"kind": "equality", "dims": [place("input", 0), place("input", 1)]}
    assert {(str(one["dimLhs"]), tuple(one["coefficients"])) for one in lines} == {
        (str(place("output", 2)), (1, 1)),
        (str(place("output", 0)), (3, 0)),
    }


def test_sizes_within_a_range_are_taken_and_others_are_not() -> None:
    sizes = {0: Dim("n", min=2, max=8), 1: 2 * Dim("m", min=2, max=8)}
    loaded, schema = _compiled(Halves(), (torch.ones(4, 6),), {"x": sizes})
    method = schema["forward"]
    _check_against_file(loaded, method)
    assert _size(method, "input", 0, 0) == (2, 8, 1)
    least, most, step = _size(method, "input", 0, 1)
    assert (least, most, step) == (4, 16, 2)
    forward = loaded.load_method("forward")
    for columns in (least, least + step, most):
        (result,) = forward.execute((torch.ones(2, columns),))
        assert result.shape == (2, columns // 2, 2)
    for columns in (least - step, least + 1, most + step):
        with pytest.raises(InputError):
            forward.execute((torch.ones(2, columns),))


def test_ranges_that_have_0() -> None:
    loaded, schema = _compiled(nn.ReLU(), (torch.ones(4, 6),), {"input": {0: Dim("n", max=8)}})
    _check_against_file(loaded, schema["forward"])
    assert _size(schema["forward"], "input", 0, 0) == (1, 8, 1)


def test_types_without_a_name() -> None:
    with pytest.raises(PassReport, match=r"(?s)input 0 has type f16.*convert it inside of the model"):
        _compiled(nn.ReLU(), (torch.ones(4, dtype=torch.half),))
