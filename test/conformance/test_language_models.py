"""Decoders of transformers with a cache of fixed size: both runtimes against the model without a cache."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import torch
import transformers as hf
from language_models import ATTENTION, EXPERTS, RECURRENT, VOCABULARY, random_model
from stock import StockRuntime

from et_backends.codegen.object_code import INSTRUCTION_SETS
from et_backends.native.compiler import NativePartitioner
from et_backends.native.format import read_native
from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from et_ir.language_models import CachedDecoder, Sizes, check_decoder, export_decoder, quantize_weights
from et_ir.language_models.experts import QuantizedMatrices
from et_ir.quantization import QuantizationMode
from et_schema.program import DelegateCall
from et_schema.pte import read_pte
from et_vm.backends.cpu import cpu_features
from et_vm.runtime import Method, Runtime

SIZES: Final = Sizes(context=40, chunk=12)
PROMPT: Final = 12
HERE: Final = next(name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags))
TOKENS: Final = torch.randint(0, VOCABULARY, (1, PROMPT + 16), generator=torch.Generator().manual_seed(0))


class Exported(NamedTuple):
    """The logits of a model without a cache, and the methods of its decoder as torch exports them."""

    expected: torch.Tensor
    programs: dict[str, torch.export.ExportedProgram]


def _expected(model: Any) -> torch.Tensor:
    with torch.no_grad():
        return model(TOKENS, use_cache=False).logits[0]


@cache
def _exported(family: str, *, quantize_cache: bool = False) -> Exported:
    """A decoder of random weights; tests of its plain, delegated and native forms share it.

    What runs in eager mode is another: the cache of this one is what the programs start with.
    """
    model = random_model((ATTENTION | RECURRENT)[family]())
    expected = _expected(model)
    decoder = CachedDecoder(model, SIZES, quantize_cache=quantize_cache)
    check_decoder(model, decoder)
    with warnings.catch_warnings(action="ignore"):
        programs = export_decoder(decoder, SIZES).programs
    return Exported(expected, programs)


def _step(method: Method, first: int, last: int) -> torch.Tensor:
    return torch.as_tensor(method.execute([TOKENS[:, first:last], torch.arange(first, last)])[0])[0]


def _first_on_stock(
    family: str, edge: Any, tokens: int, expected: torch.Tensor, stock: StockRuntime, folder: Path
) -> None:
    """The first call, by the stock runtime: its worker loads a file anew for each."""
    path = folder / "model.pte"
    edge.to_executorch().save(path)
    (first,) = stock.run(path, [TOKENS[:, :tokens].contiguous(), torch.arange(tokens)])
    torch.testing.assert_close(first[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", ATTENTION)
def test_prompts_and_steps(family: str, stock: StockRuntime, tmp_path: Path) -> None:
    """A prompt in two calls is a prompt in one; then sixteen steps, by the method for one token."""
    expected, programs = _exported(family)
    assert set(programs) == {"forward", "decode"}
    edge = to_edge(programs)
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    program = Runtime().load_program(file, poison=True)
    forward, decode = program.load_method("forward"), program.load_method("decode")
    for bounds in ((0, PROMPT), (0, 5), (5, PROMPT)):
        found = _step(forward, *bounds)
        torch.testing.assert_close(found, expected[bounds[1] - 1], rtol=1e-4, atol=1e-5)
    for place in range(PROMPT, TOKENS.shape[1]):
        method = decode if place % 4 else forward
        torch.testing.assert_close(_step(method, place, place + 1), expected[place], rtol=1e-4, atol=1e-5)
    _first_on_stock(family, edge, PROMPT, expected[PROMPT - 1], stock, tmp_path)


@pytest.mark.parametrize("chunk", [1, 2, 3, 4])
def test_short_calls_of_small_windows(chunk: int) -> None:
    """Rings have places for the window and a call: in calls of other sizes a model would not be checked rightly."""
    config = ATTENTION["mistral"]()
    config.sliding_window = 3
    model = random_model(config)
    expected = _expected(model)
    sizes = Sizes(SIZES.context, chunk)
    decoder = CachedDecoder(model, sizes)
    check_decoder(model, decoder)
    with warnings.catch_warnings(action="ignore"):
        found = export_decoder(decoder, sizes)
    assert found.chunk == (3 if chunk == 2 else chunk)
    file = to_edge(found.programs).to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime().load_program(file, poison=True).load_method("forward")
    first = 0
    while first < TOKENS.shape[1]:
        # Calls of all sizes, one after the other.
        last = min(first + 1 + first % found.chunk, TOKENS.shape[1])
        torch.testing.assert_close(_step(method, first, last), expected[last - 1], rtol=1e-4, atol=1e-5)
        first = last


@pytest.mark.parametrize("family", RECURRENT)
def test_recurrent_layers(family: str, stock: StockRuntime, tmp_path: Path) -> None:
    """A prompt in two calls is a prompt in one: the state goes on. Then sixteen steps."""
    expected, programs = _exported(family)
    assert set(programs) == {"forward", "decode"}
    edge = to_edge(programs)
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    program = Runtime().load_program(file, poison=True)
    forward, decode = program.load_method("forward"), program.load_method("decode")
    for prompt in ((0, PROMPT), (0, 5, PROMPT), (0, 3, 4, PROMPT)):
        forward.state.reset()
        for first, last in itertools.pairwise(prompt):
            found = _step(forward if last - first > 1 else decode, first, last)
            torch.testing.assert_close(found, expected[last - 1], rtol=1e-4, atol=1e-5)
    for place in range(PROMPT, TOKENS.shape[1]):
        found = _step(decode, place, place + 1)
        torch.testing.assert_close(found, expected[place], rtol=1e-4, atol=1e-5)
    _first_on_stock(family, edge, PROMPT, expected[PROMPT - 1], stock, tmp_path)


@pytest.mark.parametrize("family", ["llama", "mistral"])
def test_quantized_caches(family: str, stock: StockRuntime, tmp_path: Path) -> None:
    """The program computes what torch does with the same cache, which is near the model without one."""
    plain, programs = _exported(family, quantize_cache=True)
    decoder = CachedDecoder(random_model(ATTENTION[family]()), SIZES, quantize_cache=True)
    edge = to_edge(programs)
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    program = Runtime().load_program(file, poison=True)
    forward, decode = program.load_method("forward"), program.load_method("decode")
    dtypes = {name: array.dtype.name for name, array in decode.state.items()}
    assert dtypes["cache.keys_0"] == dtypes["cache.values_1"] == "int8"
    bounds = [(0, 5), (5, PROMPT), *((at, at + 1) for at in range(PROMPT, TOKENS.shape[1]))]
    eager: list[torch.Tensor] = []
    for first, last in bounds:
        with torch.no_grad():
            eager.append(decoder(TOKENS[:, first:last], torch.arange(first, last))[0])
        given = _step(forward if last - first > 1 else decode, first, last)
        # A value at the middle between two integers may be rounded to either.
        torch.testing.assert_close(given, eager[-1], rtol=1e-2, atol=2e-3)
        similarity = torch.nn.functional.cosine_similarity(given, plain[last - 1], dim=0)
        assert similarity > 0.999
    path = tmp_path / "model.pte"
    edge.to_executorch().save(path)
    (on_stock,) = stock.run(path, [TOKENS[:, :5].contiguous(), torch.arange(5)])
    torch.testing.assert_close(on_stock[0], eager[0], rtol=1e-2, atol=2e-3)


@pytest.mark.parametrize(
    ("family", "quantized"), [("llama", False), ("llama", True), ("mistral", True), ("gemma3", False)]
)
def test_caches_on_native(family: str, quantized: bool) -> None:
    """One delegate updates the cache, which a session takes over from another, while a third goes on in a thread."""
    _, programs = _exported(family, quantize_cache=quantized)
    decoder = CachedDecoder(random_model(ATTENTION[family]()), SIZES, quantize_cache=quantized)
    file = (
        to_edge_transform_and_lower(programs, partitioner=[NativePartitioner(instruction_sets=[HERE])])
        .to_executorch(ExecutorchBackendConfig(target="et-vm"))
        .buffer
    )
    for plan in read_pte(memoryview(file)).program.execution_plan:
        assert not plan.operators
        assert len(plan.delegates) == 1
    runtime = Runtime(threads=2)

    def session() -> tuple[Method, Method]:
        program = runtime.load_program(file, poison=True, allow_native=True)
        return program.load_method("forward"), program.load_method("decode")

    bounds = [(0, 5), (5, PROMPT), *((at, at + 1) for at in range(PROMPT, TOKENS.shape[1]))]
    with torch.no_grad():
        expected = [decoder(TOKENS[:, first:last], torch.arange(first, last))[0] for first, last in bounds]

    def run(methods: tuple[Method, Method], steps: slice) -> None:
        for (first, last), wanted in zip(bounds[steps], expected[steps], strict=True):
            given = _step(methods[last - first == 1], first, last)
            # A value at the middle between two integers may be rounded to either.
            tolerance = {"rtol": 1e-2, "atol": 2e-3} if quantized else {"rtol": 1e-4, "atol": 1e-5}
            torch.testing.assert_close(given, wanted, **tolerance)

    one, other, third = session(), session(), session()
    with ThreadPoolExecutor(1) as executor:
        beside = executor.submit(run, third, slice(0, None))
        run(one, slice(0, 8))
        other[0].state.restore(one[0].state.arrays())
        run(one, slice(8, None))
        run(other, slice(8, None))
        beside.result()


@pytest.mark.parametrize("family", ["lfm2", "mamba2"])
def test_recurrent_layers_on_native(family: str) -> None:
    """Scans between delegates: the last columns of a call of any length, and the state, are the model's."""
    expected, programs = _exported(family)
    edge = to_edge_transform_and_lower(programs, partitioner=[NativePartitioner(instruction_sets=[HERE])])
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    program = Runtime(threads=2).load_program(file, poison=True, allow_native=True)
    forward, decode = program.load_method("forward"), program.load_method("decode")
    for first, last in ((0, 5), (5, PROMPT), *((at, at + 1) for at in range(PROMPT, TOKENS.shape[1]))):
        logits = _step(forward if last - first > 1 else decode, first, last)
        torch.testing.assert_close(logits, expected[last - 1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("family", "quantized"), [("llama", True), ("gemma2", False)])
def test_memory_beside_a_cache(family: str, quantized: bool) -> None:
    """Arenas of machine code, and of the program around it, do not depend on the length of the cache."""
    found: list[dict[str, tuple[list[int], list[int]]]] = []
    for context in (300, 900):
        sizes = Sizes(context=context, chunk=16)
        decoder = CachedDecoder(random_model(ATTENTION[family]()), sizes, quantize_cache=quantized)
        with warnings.catch_warnings(action="ignore"):
            programs = export_decoder(decoder, sizes).programs
        lowered = to_edge_transform_and_lower(
            programs, partitioner=[NativePartitioner(instruction_sets=[HERE])]
        )
        pte = read_pte(memoryview(lowered.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer))
        arenas: dict[str, tuple[list[int], list[int]]] = {}
        for plan in pte.program.execution_plan:
            held = [pte.delegate_data(one.processed) for one in plan.delegates if one.processed is not None]
            # The second arena has intermediate results, the third the cache.
            arenas[plan.name] = (
                list(plan.non_const_buffer_sizes[:2]),
                [read_native(one).arena_size for one in held],
            )
        found.append(arenas)
    assert found[0] == found[1]
    assert {"forward", "decode"} <= found[0].keys()
    assert all(found[0]["forward"][1])


@pytest.mark.parametrize("mode", ["8da4w:group=16", "int8-dynamic", "int8-weights"])
@pytest.mark.parametrize("family", ["gemma3", "llama", "phi"])
def test_quantized_on_native(family: str, mode: str) -> None:
    """Machine code of quantized weights, whose products are all in it, computes what the portable kernels do."""
    quantized = quantize_weights(random_model(ATTENTION[family]()), QuantizationMode.parse(mode))
    with warnings.catch_warnings(action="ignore"):
        found = export_decoder(CachedDecoder(quantized.module, SIZES), SIZES)
    config = ExecutorchBackendConfig(target="et-vm")
    portable = to_edge(found.programs).to_executorch(config)
    native = to_edge_transform_and_lower(found.programs, partitioner=[NativePartitioner()]).to_executorch(
        config
    )
    outside = {
        str(one.name)
        for plan in read_pte(memoryview(native.buffer)).program.execution_plan
        for one in plan.operators
    }
    assert not any("mm" in name or "dequantize" in name or "linear" in name for name in outside), outside
    runtime = Runtime(threads=2)
    methods = [
        [program.load_method(name) for name in ("forward", "decode")]
        for program in (
            runtime.load_program(one.buffer, poison=True, allow_native=True) for one in (portable, native)
        )
    ]
    bounds = [(0, 5), (5, PROMPT), *((at, at + 1) for at in range(PROMPT, TOKENS.shape[1]))]
    for first, last in bounds:
        expected, given = (_step(pair[last - first == 1], first, last) for pair in methods)
        # A number at the middle between two integers may be rounded to either.
        torch.testing.assert_close(given, expected, rtol=1e-2, atol=2e-3)


@pytest.mark.parametrize("mode", ["8da4w:group=32", "int8-dynamic"])
def test_quantized_on_xnnpack(mode: str, stock: StockRuntime, tmp_path: Path) -> None:
    """XNNPACK computes all products of large quantized weights; of a table, the rows of tokens are restored."""
    config = hf.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=512,
        intermediate_size=1024,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
    )
    quantized = quantize_weights(random_model(config), QuantizationMode.parse(mode))
    with warnings.catch_warnings(action="ignore"):
        found = export_decoder(CachedDecoder(quantized.module, SIZES), SIZES)
        edge = to_edge_transform_and_lower(found.programs, partitioner=[XnnpackPartitioner()])
    path = tmp_path / "model.pte"
    edge.to_executorch(ExecutorchBackendConfig(target="stock-1.5")).save(path)
    for plan in read_pte(memoryview(path.read_bytes())).program.execution_plan:
        outside = {str(one.name) for one in plan.operators}
        assert not any(part in name for name in outside for part in ("mm", "linear", "round", "amin")), (
            outside
        )
    expected = _expected(quantized.module)[PROMPT - 1]
    (first,) = stock.run(path, [TOKENS[:, :PROMPT].contiguous(), torch.arange(PROMPT)])
    ours = _step(Runtime().load_program(path, poison=True).load_method("forward"), 0, PROMPT)
    for one in (first[0], ours):
        # XNNPACK rounds activations by scales of its own.
        assert (one - expected).norm() < 0.03 * expected.norm()


@pytest.mark.parametrize(
    ("family", "mode", "grouped"),
    [
        *((family, "", True) for family in EXPERTS),
        pytest.param("llama4", "", False, marks=pytest.mark.sweep),
        ("mixtral", "", False),
        ("deepseek_v3", "8da4w:group=16", True),
        ("mixtral", "8da4w:group=16", True),
        ("qwen3_moe", "8da4w:group=16", False),
        ("qwen3_moe", "8da4w:group=16", True),
        *(
            pytest.param(name, "8da4w:group=16", True, marks=pytest.mark.sweep)
            for name in ("gpt_oss", "llama4", "olmoe")
        ),
        ("gpt_oss", "int8-dynamic", True),
        ("olmoe", "int8-weights", True),
    ],
)
def test_experts_on_native(family: str, mode: str, grouped: bool) -> None:
    """A step is one call of machine code, of integers too, and computes what eager torch does."""
    model = random_model(EXPERTS[family]())
    if mode:
        model = quantize_weights(model, QuantizationMode.parse(mode)).module
    decoder = CachedDecoder(model, SIZES, grouped_experts=grouped)
    with warnings.catch_warnings(action="ignore"):
        found = export_decoder(decoder, SIZES)
    file = (
        to_edge_transform_and_lower(found.programs, partitioner=[NativePartitioner(instruction_sets=[HERE])])
        .to_executorch(ExecutorchBackendConfig(target="et-vm"))
        .buffer
    )
    for plan in read_pte(memoryview(file)).program.execution_plan:
        calls = [one.instr_args for chain in plan.chains for one in chain.instructions]
        assert not plan.operators
        assert [type(one) for one in calls] == [DelegateCall]
    program = Runtime(threads=2).load_program(file, poison=True, allow_native=True)
    methods = [program.load_method(name) for name in ("forward", "decode")]
    for first, last in [(0, 5), (5, PROMPT), *((at, at + 1) for at in range(PROMPT, PROMPT + 4))]:
        with torch.no_grad():
            expected = decoder(TOKENS[:, first:last], torch.arange(first, last))[0]
        given = _step(methods[last - first == 1], first, last)
        # A number at the middle between two integers may be rounded to either.
        tolerance = {"rtol": 1e-2, "atol": 2e-3} if mode else {"rtol": 1e-4, "atol": 1e-5}
        torch.testing.assert_close(given, expected, **tolerance)


@pytest.mark.parametrize("change", [lambda one: one, lambda one: one[:, -1:]], ids=["all", "last"])
def test_logits_of_each_token(change: Callable[[torch.Tensor], torch.Tensor]) -> None:
    model = random_model(ATTENTION["qwen3"]())
    decoder = CachedDecoder(model, SIZES, all_logits=True)
    check_decoder(model, decoder)
    with torch.no_grad():
        found = decoder(TOKENS[:, :PROMPT], torch.arange(PROMPT))
    torch.testing.assert_close(change(found)[0], change(_expected(model)[None, :PROMPT])[0])


def test_delegated_to_xnnpack(stock: StockRuntime, tmp_path: Path) -> None:
    """Partitions of the method for any number of tokens get the token ids for their sizes alone."""
    expected, programs = _exported("llama")
    edge = to_edge_transform_and_lower(programs, partitioner=[XnnpackPartitioner()])
    path = tmp_path / "model.pte"
    edge.to_executorch().save(path)
    program = Runtime().load_program(path, poison=True)
    forward, decode = program.load_method("forward"), program.load_method("decode")
    for bounds in ((0, 5), (5, PROMPT)):
        logits = _step(forward, *bounds)
        torch.testing.assert_close(logits, expected[bounds[1] - 1], rtol=1e-4, atol=1e-5)
    for place in (PROMPT, PROMPT + 1):
        logits = _step(decode, place, place + 1)
        torch.testing.assert_close(logits, expected[place], rtol=1e-4, atol=1e-5)
    (first,) = stock.run(path, [TOKENS[:, :PROMPT].contiguous(), torch.arange(PROMPT)])
    torch.testing.assert_close(first[0], expected[PROMPT - 1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("mode", "bits"),
    [("8da4w:group=32", 4), pytest.param("int8-dynamic", 8, marks=pytest.mark.sweep)],
)
def test_bytes_of_experts(mode: str, bits: int) -> None:
    """A file for machine code has the integers of experts once, in as many bits as they need, for both methods.

    Beside them are their scales, and the sum of each row, for zero points of activations.
    """
    config = hf.Qwen3MoeConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=64,
        moe_intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=16,
        num_experts=32,
        num_experts_per_tok=2,
    )
    model = quantize_weights(random_model(config), QuantizationMode.parse(mode)).module
    tables = [module for module in model.modules() if isinstance(module, QuantizedMatrices)]
    integers = sum(table.integers.numel() for table in tables) * bits // 8
    scales = sum(table.scales.numel() * 4 for table in tables)
    sums = sum(table.integers[..., 0].numel() * 4 for table in tables)
    with warnings.catch_warnings(action="ignore"):
        found = export_decoder(CachedDecoder(model, SIZES, grouped_experts=True), SIZES)
    file = (
        to_edge_transform_and_lower(found.programs, partitioner=[NativePartitioner(instruction_sets=[HERE])])
        .to_executorch(ExecutorchBackendConfig(target="et-vm"))
        .buffer
    )
    pte = read_pte(memoryview(file))
    delegates = [one for plan in pte.program.execution_plan for one in plan.delegates]
    code = sum(len(pte.delegate_data(one.processed)) for one in delegates if one.processed is not None)
    rest = len(file) - code
    # All other weights, and what describes the methods, take less than 40 kB; the integers of one more copy, 200 kB.
    assert integers < rest < integers + scales + sums + 40_000
