"""Tokens a second of a Llama with random weights, in floats and quantized, as machine code.

    python -m bench.language_models [--size 110m|1b] [--threads N] [--modes float,int8-dynamic,8da4w] [--tokens 32]

A prompt of 256 tokens is read in one call, then tokens are decoded one at a time behind it, in a cache for
512. "native" is our file for et-vm on this machine's instruction set, in each mode; "eager" is the float
model in torch with the same cache; "xnnpack" our files of the same programs for the stock runtime, there
(`--xnnpack`). All take turns.

"read" is what memory bandwidth allows: the bytes of the weights that a token reads, at the rate at which as
many threads read memory and do nothing else (goal: at least 80 %). "peak" is the share of this machine's
multiply-adds of f32 that the products of the prompt come to (goal: at least 60 % in floats; products of bytes
have a higher peak).
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.measure import median_ratio, print_table, set_threads, show_time, take_turns

if TYPE_CHECKING:
    from torch import Tensor

CONTEXT: Final = 512
PROMPT: Final = 256
SIZES: Final[dict[str, dict[str, int]]] = {
    "tiny": {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 512,
    },
    "110m": {
        "hidden_size": 768,
        "intermediate_size": 2048,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "num_key_value_heads": 12,
        "vocab_size": 32000,
    },
    "1b": {
        "hidden_size": 2048,
        "intermediate_size": 5632,
        "num_hidden_layers": 22,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
        "vocab_size": 32000,
    },
}
"""Sizes of the configuration: those of Llama 2 at 110 million parameters, and of TinyLlama."""
MODES: Final = ("float", "int8-dynamic", "8da4w")

Step = Callable[[str, "Tensor", "Tensor"], Any]
"""Runs a method on token ids and positions."""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.language_models",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--size", choices=list(SIZES), default="110m")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--modes", type=lambda given: given.split(","), default=list(MODES))
    parser.add_argument("--tokens", type=int, default=32, help="steps that are measured")
    parser.add_argument("--xnnpack", action="store_true", help="measure the stock runtime too")
    options = parser.parse_args()
    # The stock runtime has a thread for each processor; there are as many as it is to use.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    set_threads(options.threads)  # which is why nothing above imports numpy
    import torch

    torch.set_num_threads(options.threads)
    steps, weights = _runtimes(options)
    prompt = torch.randint(0, 512, (1, PROMPT), generator=torch.Generator().manual_seed(1))
    positions = torch.arange(PROMPT)
    prefills = take_turns(
        {name: lambda step=step: step("forward", prompt, positions) for name, step in steps.items()}, 3
    )
    token = torch.tensor([[5]])
    at = dict.fromkeys(steps, PROMPT)

    def decode(name: str, step: Step) -> Callable[[], object]:
        def run() -> object:
            at[name] += 1
            return step("decode", token, torch.tensor([at[name]]))

        return run

    seconds = take_turns({name: decode(name, step) for name, step in steps.items()}, options.tokens)
    bandwidth, peak = _limits(options.threads)
    rows: list[list[str]] = []
    for name, measured in seconds.items():
        typical = sorted(measured)[len(measured) // 2]
        prefill = sorted(prefills[name])[1]
        nbytes, elements = weights.get(name, (0, 0))
        rows.append(
            [
                name,
                show_time(typical),
                f"{1 / typical:.1f}",
                f"{nbytes / 1e6:.0f} MB" if nbytes else "",
                f"{nbytes / typical / bandwidth:.0%}" if nbytes else "",
                f"{median_ratio(measured, seconds['eager']):.2f}",
                f"{PROMPT / prefill:.0f}",
                f"{2 * elements * PROMPT / prefill / peak:.0%}" if elements else "",
            ]
        )
    print(f"{options.size}, {options.threads} threads, memory read at {bandwidth / 1e9:.1f} GB/s\n")
    header = ["", "token", "tokens/s", "weights", "read", "to eager", "prompt tokens/s", "peak"]
    print_table(header, rows)


def _limits(threads: int) -> tuple[float, float]:
    """Bytes a second that are read, and floating-point operations a second."""
    from bench.machine import PART, multiply_adds, operations, reads

    seconds = take_turns({"read": reads(threads), "multiply": multiply_adds(threads)}, 5)
    return PART * threads / min(seconds["read"]), operations(threads) / min(seconds["multiply"])


def _runtimes(options: argparse.Namespace) -> tuple[dict[str, Step], dict[str, tuple[int, int]]]:
    """A step of each runtime, and the bytes of weights that a token reads of those that compile, with their number."""
    import torch

    from bench.subjects import FOLDER, quiet
    from et_vm.runtime import Runtime
    from examples.artefacts import keep
    from examples.stages import compiler_key

    eager = _decoder(options.size, "float")

    def step_eager(_: str, ids: Tensor, at: Tensor) -> Any:
        with torch.no_grad():
            return eager(ids, at)

    def on(program: Any) -> Step:
        loaded = {name: program.load_method(name) for name in ("forward", "decode")}
        return lambda method, ids, at: loaded[method].execute([ids, at])

    steps: dict[str, Step] = {"eager": step_eager}
    weights: dict[str, tuple[int, int]] = {}
    elements = sum(
        one.weight.numel()
        for name, one in eager.named_modules()
        if isinstance(one, torch.nn.Linear) and not name.endswith("lm_head")
    )
    runtime = Runtime(threads=options.threads)
    for mode in options.modes:
        for backend in ("native", *(["xnnpack"] if options.xnnpack else [])):
            name = f"{backend} {mode}"
            path = FOLDER / f"language-{options.size}-{mode}-{backend}.pte"
            notes, _ = keep(
                path, compiler_key(), lambda draft, m=mode, b=backend: _compile(options.size, m, b, draft)
            )
            if backend == "native":
                weights[name] = notes["weights"], elements
                steps[name] = on(runtime.load_program(path, allow_native=True))
            else:
                from executorch.runtime import Runtime as StockRuntime

                with quiet():
                    steps[name] = on(StockRuntime.get().load_program(str(path)))
    return steps, weights


def _decoder(size: str, mode: str) -> Any:
    """The model with its cache, in eager mode."""
    import torch

    os.environ["HF_HUB_OFFLINE"] = "1"
    with warnings.catch_warnings(action="ignore"):
        from transformers import LlamaConfig, LlamaForCausalLM

        from et_ir.language_models import CachedDecoder, quantize_weights
        from et_ir.language_models import Sizes as DecoderSizes
        from et_ir.quantization import QuantizationMode

        torch.manual_seed(0)
        config = LlamaConfig(**SIZES[size], max_position_embeddings=CONTEXT, tie_word_embeddings=False)
        model = LlamaForCausalLM(config).eval()
        if mode != "float":
            model = quantize_weights(model, QuantizationMode.parse(mode)).module
        return CachedDecoder(model, DecoderSizes(CONTEXT, PROMPT))


def _compile(size: str, mode: str, backend: str, path: Path) -> dict[str, Any]:
    from bench.machine import best_instruction_set
    from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
    from et_ir.backends.native import NativePartitioner
    from et_ir.backends.xnnpack.partitioner import XnnpackPartitioner
    from et_ir.language_models import Sizes as DecoderSizes
    from et_ir.language_models import export_decoder

    with warnings.catch_warnings(action="ignore"):
        programs = export_decoder(_decoder(size, mode), DecoderSizes(CONTEXT, PROMPT)).programs
    native = backend == "native"
    partitioner = (
        NativePartitioner(instruction_sets=[best_instruction_set()]) if native else XnnpackPartitioner()
    )
    lowered = to_edge_transform_and_lower(programs, partitioner=[partitioner])
    lowered.to_executorch(ExecutorchBackendConfig(target="et-vm" if native else "stock-1.5")).save(path)
    return {"weights": _weights_read(path)} if native else {}


def _weights_read(path: Path) -> int:
    """Bytes of the constants that machine code of the method for one token reads, each once."""
    from et_schema.native import read_native
    from et_schema.pte import read_pte

    pte = read_pte(memoryview(path.read_bytes()))
    plan = next(one for one in pte.program.execution_plan if one.name == "decode")
    sizes: dict[str, int] = {}
    for delegate in plan.delegates:
        assert delegate.processed is not None
        for one in read_native(pte.delegate_data(delegate.processed)).constants:
            sizes[str(one.key)] = one.nbytes
    return sum(sizes.values())


if __name__ == "__main__":
    main()
