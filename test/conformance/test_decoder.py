"""A decoder with a cache: 64 greedy tokens after a prompt, the same in eager and all runtimes, and no copied cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from stock import StockRuntime
from torch import Tensor
from whole_copies import whole_copies

from et_backends.codegen.object_code import INSTRUCTION_SETS
from et_backends.native.compiler import NativePartitioner
from et_ir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge
from et_ir.targets.lookup import DEFAULT
from et_schema.pte import read_pte
from et_vm.backends.cpu import cpu_features
from et_vm.runtime import Runtime
from examples.models.cached_llama import CachedLlama, Step, greedy, methods
from examples.models.weights import initialise, seeded

SETS = [name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags)]
TOKENS = 64
WINDOWS = {"cache": (None, 17), "ring": (16, 7)}
"""The window of each kind of cache, and how long a prompt is."""
HEADS, SIZE = 2, 16


class Decoder:
    """A small decoder, its file for each target, and what eager says after a prompt."""

    def __init__(self, kind: str) -> None:
        window, length = WINDOWS[kind]
        with seeded(3):
            self.model = CachedLlama(512, 64, 4, HEADS, 96, 2, 128, window)
            initialise(self.model)
            self.prompt = torch.randint(0, 512, (1, length))
        with torch.no_grad():
            programs = {
                name: torch.export.export(module, arguments, dynamic_shapes=shapes)
                for name, (module, arguments, shapes) in methods(self.model).items()
            }
        self.edge = to_edge(programs)
        self.cache_bytes = HEADS * SIZE * 4 * (window or 128)
        self.files: dict[str, ExecutorchProgramManager] = {}
        self.expected = greedy(self._eager, self.prompt, TOKENS)

    def _eager(self, method: str, ids: Tensor, at: Tensor) -> Tensor:
        with torch.no_grad():
            return self.model(ids, at)

    def file(self, target: str) -> ExecutorchProgramManager:
        if target not in self.files:
            self.files[target] = self.edge.to_executorch(ExecutorchBackendConfig(target=target))
        return self.files[target]


@pytest.fixture(scope="module", params=WINDOWS)
def decoder(request: pytest.FixtureRequest) -> Decoder:
    return Decoder(request.param)


def on(program: Any) -> Step:
    def step(method: str, ids: Tensor, at: Tensor) -> Tensor:
        return program.load_method(method).execute([ids, at])[0]

    return step


def test_greedy_tokens_differ(decoder: Decoder) -> None:
    """A decoder that gave one token for ever would agree with anything."""
    assert len(set(decoder.expected)) >= TOKENS // 4


@pytest.mark.parametrize("poison", [False, True], ids=["plain", "poisoned"])
@pytest.mark.parametrize("kernels", ["portable", "aten"])
@pytest.mark.parametrize("target", [DEFAULT, "et-vm"])
def test_on_our_vm(decoder: Decoder, target: str, kernels: str, poison: bool) -> None:
    program = Runtime.get().load_program(decoder.file(target).buffer, kernels=kernels, poison=poison)
    assert greedy(on(program), decoder.prompt, TOKENS) == decoder.expected
    for method in ("prefill", "decode"):
        assert program.core.clashes(method) == []


def test_on_the_stock_runtime(decoder: Decoder, stock: StockRuntime, tmp_path: Path) -> None:
    path = tmp_path / "decoder.pte"
    decoder.file(DEFAULT).save(path)

    def step(method: str, ids: Tensor, at: Tensor) -> Tensor:
        return stock.run_on(path, [ids, at], method)[0]

    assert greedy(step, decoder.prompt, TOKENS) == decoder.expected


@pytest.mark.parametrize("target", [DEFAULT, "et-vm"])
def test_no_instruction_copies_a_cache(decoder: Decoder, target: str) -> None:
    module = decoder.file(target).module
    assert whole_copies(module, "decode", least=decoder.cache_bytes) == []
    # With many queries at once their products are faster with keys that are transposed, once for a prompt and layer.
    found = whole_copies(module, "prefill", least=decoder.cache_bytes)
    assert set(found) <= {"aten::transpose_copy.int_out", "aten::permute_copy.out"}
    assert len(found) == 2


def test_a_session_is_kept_and_goes_on_elsewhere(decoder: Decoder, tmp_path: Path) -> None:
    file = decoder.file("et-vm").buffer
    first = Runtime.get().load_program(file)
    begun = greedy(on(first), decoder.prompt, TOKENS // 2)
    first.load_method("prefill").state.save(tmp_path / "session.safetensors")

    second = Runtime.get().load_program(file)
    second.load_method("decode").state.load(tmp_path / "session.safetensors")
    step, tokens = on(second), list(begun)
    while len(tokens) < TOKENS:
        at = torch.tensor([decoder.prompt.shape[1] + len(tokens) - 1])
        tokens.append(int(step("decode", torch.tensor([[tokens[-1]]]), at).argmax()))
    assert tokens == decoder.expected


def test_a_session_is_begun_anew(decoder: Decoder) -> None:
    program = Runtime.get().load_program(decoder.file("et-vm").buffer)
    greedy(on(program), torch.flip(decoder.prompt, (1,)), 3)
    program.load_method("decode").state.reset()
    assert program.load_method("prefill").state["position"].tolist() == [-1] * len(decoder.model.position)
    assert greedy(on(program), decoder.prompt, TOKENS) == decoder.expected


@pytest.mark.parametrize("instruction_set", SETS)
def test_with_machine_code(decoder: Decoder, instruction_set: str) -> None:
    """Partitions with the cache, and around it: nothing copies it."""
    edge = decoder.edge.to_backend(NativePartitioner(instruction_sets=[instruction_set]))
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm"))
    for threads in (1, 2):
        runtime = Runtime(threads=threads)
        program = runtime.load_program(file.buffer, allow_native=True, poison=True)
        assert greedy(on(program), decoder.prompt, TOKENS) == decoder.expected
    for method in ("prefill", "decode"):
        assert whole_copies(file.module, method, least=decoder.cache_bytes) == []
    # Methods and partitions share the packed weights.
    data = read_pte(memoryview(file.buffer)).named_data()
    weights = sum(one.numel() * one.element_size() for one in decoder.model.parameters())
    assert sum(one.nbytes for one in data.values()) <= 1.1 * weights
