"""Real models with parts delegated to programs of their own: the same results, dead memory poisoned."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import pytest
import torch

from et_backends.nested.compiler import NestedPartitioner
from et_ir import to_edge
from et_ir.driver.managers import ExecutorchBackendConfig
from et_vm.runtime import Runtime


def export(made: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what torch says of its own tracing
        return torch.export.export(made[0].eval(), made[1], dynamic_shapes=made[2] if len(made) > 2 else None)


# What stays outside parts the rest into many partitions.
@pytest.mark.parametrize(
    ("place", "outside"),
    [
        ("bert:bert", ["bmm"]),
        ("mobilenet_v2:mobilenet_v2", ["hardtanh"]),
        ("recurrent:gru", ["sigmoid"]),
        ("translator:translator", ["bmm"]),
        ("cached_llama:cached_llama", ["bmm"]),
    ],
)
def test_results_are_the_same(place: str, outside: list[str]) -> None:
    module, _, name = place.partition(":")
    made = getattr(import_module(f"examples.models.{module}"), name)()
    methods = made if isinstance(made, dict) else {"forward": made}
    edge = to_edge({method: export(one) for method, one in methods.items()})
    lowered = edge.to_backend(NestedPartitioner(without=outside))
    assert lowered.delegation is not None
    assert len(lowered.delegation.partitions) > 5
    reasons = {reason for reason, _, _ in lowered.delegation.by_reason()}
    assert "no partitioner given" not in reasons
    outputs: list[list[Any]] = []
    for manager in (edge, lowered):
        file = manager.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
        program = Runtime().load_program(file, poison=True)
        outputs.append(
            [
                out
                for method, one in methods.items()
                for out in program.load_method(method).execute(list(one[1]))
            ]
        )
    torch.testing.assert_close(outputs[1], outputs[0], rtol=1e-5, atol=1e-5)
