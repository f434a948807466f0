"""The schema snapshot is that of the installed torch, and the generated classes are those of the snapshot."""

from typing import Any

import torch
import torch.ao.quantization.fx._decomposed  # defines the operators

from et_ir.dialects.aten import OP_BY_NAME
from et_ir.dialects.schema import parse_schema
from et_ir.registry.generate import EDGE_ONLY, generate, read_entries
from et_ir.registry.snapshot import SNAPSHOT, collect
from et_ir.targets.registry import find_target

EMBEDDINGS = ("embedding_2bit", "embedding_4bit", "embedding_byte")


def test_snapshot_is_current():
    assert SNAPSHOT.read_text(encoding="utf-8").splitlines() == collect(), (
        "run python -m et_ir.registry.snapshot"
    )


def test_generated_classes_are_current():
    for path, text in generate().items():
        assert path.read_text(encoding="utf-8") == text, "run python -m et_ir.registry.generate"


def test_snapshot_is_sorted_and_unique():
    lines = SNAPSHOT.read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))


def test_every_schema_has_a_class():
    prefixed = [e for e in read_entries() if e.namespace not in EDGE_ONLY]
    names = {("" if e.namespace == "aten" else f"{e.namespace}.") + e.schema.qualified_name for e in prefixed}
    assert names == set(OP_BY_NAME)


def test_quantized_operators_are_those_of_torch_and_of_kernels():
    """Functional schemas as torch has them, those it lacks as a target has kernels; an out variant for each kernel."""
    registered: Any = torch._C
    schemas = registered._jit_get_all_schemas()
    prefix = "quantized_decomposed::"
    theirs = {str(s) for s in schemas if s.name.startswith(prefix) and not s.is_mutable}
    entries = [e for e in read_entries() if e.namespace == "quantized_decomposed"]
    ours = {e.schema.text for e in entries}
    defined = {s.removeprefix(prefix) for s in theirs if "qc" not in s}
    outs = {f"{prefix}{parse_schema(e.out).qualified_name}" for e in entries}
    kernels = {name for name in find_target("et-vm").kernels if name.startswith(prefix)}
    beyond = {parse_schema(s).qualified_name for s in ours - defined}
    runtimes = {f"{name}{dtype}" for name in EMBEDDINGS for dtype in ("", ".dtype")}
    assert defined - ours <= {s for s in defined if s.startswith("add")}
    assert beyond <= runtimes | {"add", "mixed_linear", "mixed_mm"}
    assert outs == kernels
