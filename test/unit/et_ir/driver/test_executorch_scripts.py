"""Scripts for ExecuTorch run with their imports changed, each name to the module that the table says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from et_ir.driver.executorch_options import OptionWithoutEffect
from et_schema.executorch_names import rows

HEAD = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return torch.relu(self.fc(x))

torch.manual_seed(0)
model, args = Model().eval(), (torch.randn(2, 8),)
program = torch.export.export(model, args)
"""

PORTABLE = """
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.runtime import Runtime, Verification

edge = to_edge_transform_and_lower(
    {"forward": program},
    partitioner=[],
    constant_methods={"get_max_seq_len": 8},
    compile_config=EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=True),
)
assert edge.methods >= {"forward"} and edge.config_methods == {"get_max_seq_len"}
print(edge.exported_program())
et = edge.to_executorch(ExecutorchBackendConfig(extract_delegate_segments=True, do_quant_fusion_and_const_prop=True))
with open("model.pte", "wb") as file:
    et.write_to_file(file)
method = Runtime.get().load_program("model.pte", verification=Verification.Minimal).load_method("forward")
torch.testing.assert_close(method.execute(args)[0], model(*args))
"""

XNNPACK = """
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime

def inspect(module):
    seen.append(module)

seen = []
edge = to_edge_transform_and_lower(
    program, transform_passes=[inspect], partitioner=[XnnpackPartitioner()],
    compile_config=EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=True),
)
et = edge.to_executorch(ExecutorchBackendConfig(
    memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)))
et.dump_executorch_program()
assert len(seen) == 1 and "XnnpackBackend" in str(et.executorch_program)
program = Runtime.get().load_program(et.buffer)
assert not program.metadata("forward").input_tensor_meta(0).is_memory_planned()
torch.testing.assert_close(program.load_method("forward").execute(args)[0], model(*args))
"""

TOOLS = """
from executorch.devtools import BundledProgram, Inspector, generate_etrecord
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from executorch.exir import to_edge
from executorch.runtime import Runtime

edge = to_edge(program, generate_etrecord=True)
et = edge.to_executorch()
et.get_etrecord().save("etrecord.bin")
suite = MethodTestSuite("forward", [MethodTestCase(inputs=args, expected_outputs=model(*args))])
bundled = serialize_from_bundled_program_to_flatbuffer(BundledProgram(et, [suite]))
assert bundled[4:8] == b"BP08"
loaded = Runtime.get().load_program(et.buffer, enable_etdump=True, debug_buffer_size=1 << 20)
loaded.load_method("forward").execute(args)
loaded.write_etdump_result_to_file("etdump.etdp", "debug.bin")
inspector = Inspector(etdump_path="etdump.etdp", etrecord="etrecord.bin", debug_buffer_path="debug.bin")
assert inspector.event_blocks
"""


def _migrated(script: str) -> str:
    """The script with each name imported from where the table has it."""
    homes = {name: row.there for row in rows() if row.there for name in row.all_names}

    def imports(match: re.Match[str]) -> str:
        names = [name.strip() for name in match[1].split(",")]
        return "\n".join(f"from {homes[name]} import {name}" for name in names)

    return re.sub(r"^from executorch\.\S+ import (.+)$", imports, script, flags=re.M)


@pytest.mark.parametrize(
    ("script", "warned"),
    [(PORTABLE, True), (XNNPACK, True), (TOOLS, False)],
    ids=["portable", "xnnpack", "tools"],
)
def test_scripts(script: str, warned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    migrated = _migrated(script)
    assert "from executorch" not in migrated
    code = compile(HEAD + migrated, "script.py", "exec")
    if warned:
        with pytest.warns(OptionWithoutEffect, match="_skip_dim_order=True"):
            exec(code, {})
    else:
        exec(code, {})
