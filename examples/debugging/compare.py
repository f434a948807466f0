"""Compare what each instruction computes with the node of the exported program that it comes from."""

from __future__ import annotations

import numpy as np
import torch

from et_ir import EdgeCompileConfig, to_edge
from et_ir.emit import origins
from et_vm import EventTracer, Tensor
from et_vm.runtime import Runtime
from examples.debugging.drop_relu import DropReluPass
from examples.debugging.model import rectified


class Nodes(torch.fx.Interpreter):
    """Runs a graph in torch, and keeps the value of each node by name."""

    def run_node(self, n: torch.fx.Node) -> object:
        values[n.name] = super().run_node(n)
        return values[n.name]


class Instructions(EventTracer):
    """Keeps a copy of the tensor that each instruction writes."""

    wants_values = True

    def on_value(self, method: str, index: int, register: int, value: object) -> None:
        if isinstance(value, Tensor):
            written[index] = value.array.copy()


values: dict[str, object] = {}
written: dict[int, np.ndarray] = {}


def main() -> None:
    model, inputs = rectified()
    program = torch.export.export(model, inputs)
    Nodes(program.module()).run(*inputs)
    et = to_edge(program, compile_config=EdgeCompileConfig(transform_passes=[DropReluPass()])).to_executorch()
    Runtime.get().load_program(et.buffer, tracer=Instructions()).load_method("forward").execute(inputs)
    nodes = {node.name for node in program.graph.nodes if node.op == "call_function"}
    for origin in origins(et.module)["forward"]:
        error = np.abs(written[origin.instruction] - np.asarray(values[origin.node])).max()
        print(f"{origin.operator:14}{origin.node:5}line {origin.frames[-1].lineno}: error {error:.2g}")
        nodes.discard(origin.node)
    print("nodes without an instruction:", ", ".join(sorted(nodes)))


if __name__ == "__main__":
    main()
