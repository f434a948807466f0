"""Compile a model for the backend of this example, run it, and compare it with what torch computes."""

from __future__ import annotations

import torch

from et_ir import to_edge_transform_and_lower
from et_ir.driver.managers import ExecutorchBackendConfig
from et_vm import RecordingTracer
from et_vm.runtime import Runtime
from examples.backend.model import gate
from examples.backend.strips import StripsPartitioner, StripsRuntime


def main() -> None:
    torch.manual_seed(0)
    model, inputs = gate()
    edge = to_edge_transform_and_lower(torch.export.export(model, inputs), partitioner=[StripsPartitioner()])
    config = ExecutorchBackendConfig(target="et-vm", extra_backends=["StripsBackend"])
    program = edge.to_executorch(config)

    runtime = Runtime()
    runtime.backend_registry.register("StripsBackend", StripsRuntime())
    tracer = RecordingTracer()
    method = runtime.load_program(program.buffer, tracer=tracer).load_method("forward")
    (result,) = method.execute(inputs)
    print("delegated:", edge.delegation and edge.delegation.delegated, "ops")
    print("equal:", torch.allclose(result, model(*inputs)))
    for event in tracer.delegates:
        handles = program.delegate_map["forward"][event.index]["delegate_map"][event.identifier]
        print(f"instruction {event.index}, step {event.identifier}: {event.name}, debug handles {handles}")


if __name__ == "__main__":
    main()
