"""The first token of a loaded file: weights that it does not use are not read.

The file is mapped, and pages that hold nothing but such weights are made inaccessible, so that a read of one ends the
process with SIGSEGV.
"""

from __future__ import annotations

import json
import mmap
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import torch
from language_models import hf, random_model

from et_backends.codegen.object_code import INSTRUCTION_SETS
from et_backends.native.compiler import NativePartitioner
from et_backends.native.format import read_native
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.language_models import CachedDecoder, Sizes, export_decoder, metadata, quantize_weights
from et_ir.quantization import QuantizationMode
from et_schema.program import Tensor
from et_schema.pte import PteFile, read_pte
from et_vm.backends.cpu import cpu_features
from et_vm.verify.tensors import tensor_bytes, tensor_data

SIZES: Final = Sizes(context=16, chunk=4)
PAGE: Final = mmap.PAGESIZE
HERE: Final = next(name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags))
Range = tuple[int, int]
"""Bytes of a file, from the first to before the last."""
TOKEN: Final = 17
CHILD: Final = """
import ctypes, json, sys
import numpy as np
from et_vm.llm import LanguageModel, Session
from et_vm.load.loader import MmapDataLoader
from et_vm.runtime import Runtime

path, token, weights, unused = sys.argv[1], int(sys.argv[2]), *map(json.loads, sys.argv[3:])
file = MmapDataLoader(path).load_all()
base = np.frombuffer(file, np.uint8).__array_interface__["data"][0]
libc = ctypes.CDLL(None)

def protect(ranges, access):
    for first, last in ranges:
        assert not libc.mprotect(ctypes.c_void_p(base + first), ctypes.c_size_t(last - first), access)

protect(weights, 0)
session = Session(LanguageModel(Runtime().load_program(file, allow_native=True)))
print("loaded", flush=True)
protect(weights, 1)
protect(unused, 0)
print(int(session.feed([token]).argmax()))
"""
_SIZES: Final[dict[str, Any]] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "initializer_range": 0.3,
}


def _model(family: str) -> Any:
    if family == "llama":
        return random_model(hf.LlamaConfig(vocab_size=2048, **_SIZES))
    return random_model(
        hf.MixtralConfig(vocab_size=512, num_local_experts=8, num_experts_per_tok=2, head_dim=16, **_SIZES)
    )


def _file(model: Any, *, native: bool) -> bytes:
    with warnings.catch_warnings(action="ignore"):
        found = export_decoder(CachedDecoder(model, SIZES), SIZES)
        constants = metadata(model, context=SIZES.context, chunk=found.chunk)
        lowered = to_edge_transform_and_lower(
            found.programs,
            partitioner=[NativePartitioner(instruction_sets=[HERE])] if native else [],
            constant_methods=constants,
        )
    return lowered.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer


def _constants(pte: PteFile, method: str) -> list[memoryview]:
    """The data of a method's constants, those of its machine code included."""
    plan = next(one for one in pte.program.execution_plan if one.name == method)
    tables = [one.val for one in plan.values if isinstance(one.val, Tensor)]
    found = [
        tensor_data(one, tensor_bytes(one), pte)
        for one in tables
        if one.data_buffer_idx and one.allocation_info is None
    ]
    named = pte.named_data()
    for delegate in plan.delegates:
        assert delegate.processed is not None
        found += [named[str(one.key)] for one in read_native(pte.delegate_data(delegate.processed)).constants]
    return found


def _pages(file: bytes, used: set[Range], of: set[Range]) -> list[Range]:
    """Ranges of pages that hold nothing but bytes of `of` that are not in `used`."""
    free = np.zeros(len(file), np.bool_)
    for first, last in of:
        free[first:last] = True
    for first, last in used:
        free[first:last] = False
    whole = free[: len(file) // PAGE * PAGE].reshape(-1, PAGE).all(1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], whole, [False]]).astype(np.int8)))
    return [(int(first) * PAGE, int(last) * PAGE) for first, last in edges.reshape(-1, 2)]


def _place(file: memoryview, part: memoryview) -> Range:
    base, first = (np.frombuffer(one, np.uint8).__array_interface__["data"][0] for one in (file, part))
    return first - base, first - base + part.nbytes


class Weights:
    """A file, and which bytes of its constants the method for one token uses."""

    def __init__(self, file: bytes, tables: list[tuple[torch.Tensor, list[int]]], expected: int) -> None:
        """Of each of the tables, it uses some rows; the likeliest token that follows is expected."""
        self.file = file
        self.expected = expected
        view = memoryview(file)
        pte = read_pte(view)
        decode, forward = (
            {_place(view, one) for one in _constants(pte, name)} for name in ("decode", "forward")
        )
        self.used = set(decode)
        for table, rows in tables:
            data = table.detach().contiguous().numpy()
            start, size = file.index(data.tobytes()), data[0].nbytes
            self.used.remove((start, start + data.nbytes))
            self.used |= {(start + row * size, start + (row + 1) * size) for row in rows}
        self.constants = _pages(file, set(), decode | forward)
        self.unused = _pages(file, self.used, decode | forward)

    def run(self, folder: Path, inaccessible: list[Range]) -> subprocess.CompletedProcess[str]:
        """Load the file without access to its constants, and read a token without access to some pages."""
        path = folder / "model.pte"
        path.write_bytes(self.file)
        ranges = (json.dumps(one) for one in (self.constants, inaccessible))
        command = [sys.executable, "-c", CHILD, str(path), str(TOKEN), *ranges]
        return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(
    scope="module",
    params=[("mixtral", ""), ("mixtral", "native"), ("llama", "int8")],
    ids=["portable", "native", "quantized"],
)
def weights(request: pytest.FixtureRequest) -> Weights:
    """A file in floats for kernels or machine code, or quantized for machine code."""
    family, kind = request.param
    model = _model(family)
    if kind == "int8":
        model = quantize_weights(model, QuantizationMode.parse("int8-dynamic")).module
    chosen: list[torch.Tensor] = []
    hooks = [
        module.register_forward_hook(lambda _, __, found: chosen.append(found[-1]))
        for name, module in model.named_modules()
        if name.endswith(".gate")
    ]
    with torch.no_grad():
        expected = model(torch.tensor([[TOKEN]]), use_cache=False).logits[0, -1]
    for hook in hooks:
        hook.remove()
    embedding = model.model.embed_tokens.weight
    tables = [(embedding.qdata if kind == "int8" else embedding, [TOKEN])]
    if chosen:
        experts, picked = model.model.layers[0].mlp.experts, chosen[0].flatten().tolist()
        assert len(picked) == 2
        tables += [(experts.gate_up_proj, picked), (experts.down_proj, picked)]
    return Weights(_file(model, native=bool(kind)), tables, int(expected.argmax()))


def test_first_token(weights: Weights, tmp_path: Path) -> None:
    """Loading reads no weights; the token its row of embeddings, its experts, and no weights of `forward` alone."""
    assert sum(last - first for first, last in weights.unused) > 16 * PAGE
    done = weights.run(tmp_path, weights.unused)
    assert (done.returncode, done.stdout) == (0, f"loaded\n{weights.expected}\n"), done.stderr


def test_what_is_used_is_read(weights: Weights, tmp_path: Path) -> None:
    """That pages are inaccessible is noticed: those of each constant that the token uses."""
    first, last = max(weights.used, key=lambda one: one[1] - one[0])
    done = weights.run(tmp_path, [(first // PAGE * PAGE, -(-last // PAGE) * PAGE)])
    assert (done.returncode, done.stdout) == (-signal.SIGSEGV, "loaded\n")
