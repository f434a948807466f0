"""Tokens a second of a Llama with random weights, in floats and quantized, as machine code and by others.

    python -m bench.language_models [--size 110m|1b] [--threads 1,2] [--modes float,int8-dynamic,8da4w,8da4w+cache]
        [--runtimes native,eager,onnxruntime,llamacpp,xnnpack] [--runs 12] [--again]
        [--llama-cpp LIBRARY] [--compile]

A prompt of 256 tokens is read in one call, then tokens are decoded one at a time behind it, in a cache for
512. "native" is our file for et-vm on this machine's instruction set, in each mode; "eager" is the float
model in torch with the same cache, "onnxruntime" the same exported to ONNX, with the cache as inputs and
results, as it has no state; "llamacpp" the weights of each mode in llama.cpp (`bench.llama_cpp`), as the
package xllamacpp has it, for AVX2, or in a library of your own; "xnnpack" our files of the same programs for
the stock runtime. Behind a mode, "+cache" stands for keys and values in 8 bits, which llama.cpp is not given.
All take turns, in a process for each number of threads. A turn is a pause, in which the threads of the others
come to rest, a run of 8 tokens that does not count, and one that does. Ids and positions are arrays of
numpy, and logits stay where native code wrote them, as `et-vm generate` has them. Files are read from disk, as
after a restart: memory that caches a file which was just written may be read at half the rate.

"processor" is the time of all threads for a token. "read" is what memory bandwidth allows: the bytes of the
weights that a token reads, at the rate at which as many threads read memory and do nothing else (goal: at least
80 %), and "with cache" that of these and the keys and values which it reads. "peak" is the share of this machine's
multiply-adds of f32 that the products of the prompt come to (goal: at least 60 % in floats; products of bytes have
a higher peak). Both limits are measured in turns with the runtimes, as they vary with the load of the host.

Files and rows are kept in the folder of compiled models until the compiler changes, so that a run which was
interrupted goes on where it was; `--again` measures anew. Each file is compiled in a process of its own, so that
what is measured has the memory of files alone: `--compile` does only that.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.measure import (
    PAUSE,
    drop_cached_pages,
    median_ratio,
    print_table,
    set_threads,
    show_time,
    take_turns,
)

if TYPE_CHECKING:
    from torch import Tensor

    from et_vm.values import Array

CONTEXT: Final = 512
PROMPT: Final = 256
RUN: Final = 8
"""Tokens that are timed together."""
PROMPTS: Final = 5
"""Times that a prompt is read."""
READ: Final = "memory"
PEAK: Final = "multiply-adds"
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
CACHE: Final = "+cache"
"""Behind a mode: keys and values are stored in 8 bits."""
PACKAGES: Final = {
    "native": (),
    "eager": (),
    "onnxruntime": ("onnxruntime", "onnx", "onnxscript"),
    "llamacpp": ("xllamacpp", "gguf"),
    "xnnpack": ("executorch",),
}
"""Runtimes, with what is to be installed for them."""

Step = Callable[[str, "Array", "Array"], Any]
"""Runs a method on token ids `[1, T]` and positions `[T]`, i64."""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.language_models",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--size", choices=list(SIZES), default="110m")
    parser.add_argument("--threads", type=_numbers, default=sorted({1, os.cpu_count() or 1}))
    modes = (*MODES, *(f"{mode}{CACHE}" for mode in MODES))
    parser.add_argument("--modes", type=_some_of(modes), default=list(MODES))
    parser.add_argument("--runtimes", type=_some_of(tuple(PACKAGES)), default=list(PACKAGES))
    parser.add_argument("--runs", type=int, default=12, help=f"runs of {RUN} tokens")
    parser.add_argument("--again", action="store_true", help="measure what has been measured already")
    parser.add_argument("--compile", action="store_true", help="compile the files, and measure nothing")
    parser.add_argument(
        "--llama-cpp",
        type=Path,
        metavar="LIBRARY",
        help="libllama.so, instead of the one in the package xllamacpp",
    )
    options = parser.parse_args()
    # Each run that counts follows one that does not, and there is a round before.
    most = (CONTEXT - PROMPT) // (2 * RUN) - 1
    if not 1 <= options.runs <= most:
        parser.error(f"--runs {options.runs}: expected 1 to {most}, for which there is room in the cache")
    replaced = {"xllamacpp"} if options.llama_cpp else set[str]()
    for runtime in options.runtimes:
        missing = [name for name in PACKAGES[runtime] if name not in replaced and find_spec(name) is None]
        if missing:
            parser.error(
                f"{runtime} needs the package {missing[0]}: pip install '.[bench,stock]', or name other --runtimes"
            )
    paths = {threads: _kept_rows(options, threads) for threads in options.threads}
    if options.compile or options.again or not all(path.exists() for path in paths.values()):
        for backend, mode in _compiled(options):
            _in_process("compiled", options.size, mode, backend)
    if options.compile:
        return
    for threads, path in paths.items():
        if options.again or not path.exists():
            given = [f"{name}={','.join(getattr(options, name))}" for name in ("modes", "runtimes")]
            arguments = [f"size={options.size}", f"runs={options.runs}", f"threads={threads}", *given]
            # Libraries take their number of threads when they are loaded.
            _in_process("measure", str(path), *arguments, f"llama_cpp={options.llama_cpp or ''}")
        kept = json.loads(path.read_text())
        print(f"{options.size}, {threads} threads, memory read at {kept['bandwidth'] / 1e9:.1f} GB/s\n")
        figures = ("token", "processor", "tokens/s", "weights", "read", "with cache", "to eager")
        print_table(["", *figures, "prompt tokens/s", "peak"], kept["rows"])
        for note in kept["notes"]:
            print(f"\n{note}")


def _in_process(function: str, *arguments: str) -> None:
    """Call a function of this module in a process of its own, with arguments of the command line."""
    call = f"import sys; from bench.language_models import {function}; {function}(*sys.argv[1:])"
    status = subprocess.run([sys.executable, "-c", call, *arguments], check=False).returncode
    if status:
        sys.exit(status)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _some_of(names: Sequence[str]) -> Callable[[str], list[str]]:
    """A parser of some of the names."""

    def parse(text: str) -> list[str]:
        given = text.split(",")
        unknown = [name for name in given if name not in names]
        if unknown:
            raise argparse.ArgumentTypeError(f"'{unknown[0]}': expected some of {', '.join(names)}")
        return given

    return parse


def _kept_rows(options: argparse.Namespace, threads: int) -> Path:
    """The file of the rows for a number of threads, by the compiler and by what is measured."""
    from bench.subjects import FOLDER
    from examples.artefacts import digest
    from examples.stages import compiler_key

    key = digest(compiler_key(), str((options.modes, options.runtimes, options.runs, options.llama_cpp)))
    return FOLDER / f"language-{options.size}-{threads}-{key[:16]}.rows.json"


def measure(path: str, *given: str) -> None:
    """Measure with a number of threads, in this process, and write the rows to a file."""
    options = argparse.Namespace(**dict(one.split("=", 1) for one in given))
    options.threads, options.runs = int(options.threads), int(options.runs)
    options.modes, options.runtimes = options.modes.split(","), options.runtimes.split(",")
    # The stock runtime has a thread for each processor; there are as many as it is to use.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    set_threads(options.threads)  # which is why nothing above imports numpy
    import numpy as np
    import torch

    from bench.machine import PART, multiply_adds, operations, reads

    torch.set_num_threads(options.threads)
    steps, weights, notes = _runtimes(options)
    prompt = np.random.default_rng(1).integers(0, 512, (1, PROMPT))
    positions = np.arange(PROMPT)
    print("prompts", file=sys.stderr)
    prefills = take_turns(
        {
            PEAK: multiply_adds(options.threads),
            **{name: lambda step=step: step("forward", prompt, positions) for name, step in steps.items()},
        },
        PROMPTS,
        pause=PAUSE,
    )
    decoded = {name: Decoded(name, step) for name, step in steps.items()}
    runs: dict[str, Callable[[], object]] = {name: one.run for name, one in decoded.items()}
    print("tokens", file=sys.stderr)
    seconds = take_turns(runs | {READ: reads(options.threads)}, options.runs, pause=PAUSE, before=1)
    bandwidth = PART * options.threads / statistics.median(seconds[READ])
    peak = operations(options.threads) / statistics.median(prefills[PEAK])
    rows: list[list[str]] = []
    for name, one in decoded.items():
        typical = statistics.median(seconds[name]) / RUN
        prefill = statistics.median(prefills[name])
        processor = statistics.median(one.processor[1::2]) / RUN  # of the runs that count
        row = [name, show_time(typical), show_time(processor), f"{1 / typical:.1f}"]
        nbytes, elements = weights.get(name, (0, 0))
        if nbytes:
            both = nbytes + _read_of_cache(options.size, name.endswith(CACHE))
            row += [f"{nbytes / 1e6:.0f} MB", *(f"{n / typical / bandwidth:.0%}" for n in (nbytes, both))]
        else:
            row += [""] * 3
        row += [f"{median_ratio(seconds[name], seconds['eager']):.2f}" if "eager" in seconds else ""]
        row += [f"{PROMPT / prefill:.0f}"]
        row += [f"{2 * elements * PROMPT / prefill / peak:.0%}" if elements else ""]
        rows.append(row)
    draft = Path(f"{path}.part")
    draft.write_text(json.dumps({"bandwidth": bandwidth, "rows": rows, "notes": notes}))
    draft.replace(path)


def _read_of_cache(size: str, is_quantized: bool) -> int:
    """Bytes of keys and values that a token reads, in the middle of those that are measured."""
    sizes = SIZES[size]
    heads = sizes["num_key_value_heads"]
    depth = sizes["hidden_size"] // sizes["num_attention_heads"]
    row = depth + 4 if is_quantized else 4 * depth
    return 2 * sizes["num_hidden_layers"] * heads * row * (PROMPT + CONTEXT) // 2


class Decoded:
    """Tokens that a runtime decodes behind the prompt."""

    def __init__(self, name: str, step: Step) -> None:
        import numpy as np

        self._step = step
        self._token = np.array([[5]])
        self._at = np.array([PROMPT - 1])
        self.processor: list[float] = []
        """Seconds of all threads for each run."""

    def run(self) -> None:
        """Decode the tokens of a run."""
        before = time.process_time()
        for _ in range(RUN):
            self._at = self._at + 1
            self._step("decode", self._token, self._at)
        self.processor.append(time.process_time() - before)


def _runtimes(
    options: argparse.Namespace,
) -> tuple[dict[str, Step], dict[str, tuple[int, int]], list[str]]:
    """A step of each runtime; where known, the bytes of weights that a token reads, and their number; notes."""
    import torch

    from bench.subjects import FOLDER, quiet
    from et_vm.runtime import Runtime
    from examples.artefacts import keep
    from examples.stages import compiler_key

    def on(program: Any, **options: bool) -> Step:
        loaded = {name: program.load_method(name) for name in ("forward", "decode")}
        return lambda method, ids, at: loaded[method].execute([ids, at], **options)

    steps: dict[str, Step] = {}
    if "eager" in options.runtimes:
        eager = _decoder(options.size, "float")

        def step_eager(_: str, ids: Array, at: Array) -> Any:
            with torch.no_grad():
                return eager(torch.from_numpy(ids), torch.from_numpy(at))

        steps["eager"] = step_eager
    weights: dict[str, tuple[int, int]] = {}
    with torch.device("meta"):
        elements = sum(
            one.weight.numel()
            for name, one in _model(options.size).named_modules()
            if isinstance(one, torch.nn.Linear) and not name.endswith("lm_head")
        )
    runtime = Runtime(threads=options.threads)
    for backend, mode in _compiled(options):
        name = f"{backend} {mode}"
        print(name, file=sys.stderr)
        path, notes = compiled(options.size, mode, backend)
        drop_cached_pages(path)
        if backend == "native":
            weights[name] = notes["weights"], elements
            steps[name] = on(runtime.load_program(path, allow_native=True), clone_outputs=False)
        else:
            from executorch.runtime import Runtime as StockRuntime

            with quiet():
                stock = on(StockRuntime.get().load_program(str(path)))
            # Its inputs are tensors.
            steps[name] = lambda method, ids, at, stock=stock: stock(
                method, torch.from_numpy(ids), torch.from_numpy(at)
            )
    if "onnxruntime" in options.runtimes:
        print("onnxruntime", file=sys.stderr)
        steps["onnxruntime"] = _onnxruntime(options)
    notes: list[str] = []
    if "llamacpp" in options.runtimes:
        from bench.llama_cpp import LlamaCpp, instruction_sets, load_library

        library = load_library(Path(options.llama_cpp) if options.llama_cpp else None)
        for mode in options.modes:
            if mode.endswith(CACHE):
                continue
            name = f"llamacpp {mode}"
            print(name, file=sys.stderr)
            path = FOLDER / f"language-{options.size}-{mode}.gguf"
            made, _ = keep(
                path, compiler_key(), lambda draft, m=mode: _write_gguf(options.size, m, draft, library)
            )
            weights[name] = made["weights"], elements
            drop_cached_pages(path)
            model = LlamaCpp(path, options.threads, library)
            steps[name] = lambda _, ids, at, model=model: model.step(ids, at)
            notes.append(f"{name}: relative error of logits {made['error']:.1g}")
        notes.append(f"llama.cpp was compiled for {instruction_sets(library)}")
    return steps, weights, notes


def _compiled(options: argparse.Namespace) -> list[tuple[str, str]]:
    """Backend and mode of each file for us or the stock runtime."""
    backends = (one for one in ("native", "xnnpack") if one in options.runtimes)
    return list(itertools.product(backends, options.modes))


def compiled(size: str, mode: str, backend: str) -> tuple[Path, dict[str, Any]]:
    """The file of a mode, compiled if it is not there, and its notes."""
    from bench.subjects import FOLDER
    from examples.artefacts import keep
    from examples.stages import compiler_key

    path = FOLDER / f"language-{size}-{mode}-{backend}.pte"
    notes, _ = keep(path, compiler_key(), lambda draft: _compile(size, mode, backend, draft))
    return path, notes


def _write_gguf(size: str, mode: str, path: Path, library: Any) -> dict[str, Any]:
    from bench.llama_cpp import check, write

    decoder = _decoder(size, mode)
    return {"weights": write(decoder, path), "error": check(decoder, path, mode, library)}


def _onnxruntime(options: argparse.Namespace) -> Step:
    """Steps of onnxruntime, of which each takes the cache that the one before returned."""
    import onnxruntime
    import torch

    from bench.subjects import FOLDER
    from examples.artefacts import digest, keep

    decoder = _decoder(options.size, "float")
    names = [name for name, _ in decoder.cache.named_buffers()]
    caches = [getattr(decoder.cache, name) for name in names]

    class Functional(torch.nn.Module):
        """The decoder with its cache as inputs, which are not changed, and results."""

        def __init__(self) -> None:
            super().__init__()
            self.decoder = decoder

        def forward(self, ids: Tensor, at: Tensor, *caches: Tensor) -> tuple[Tensor, ...]:
            for name, cache in zip(names, caches, strict=True):
                setattr(self.decoder.cache, name, cache.clone())
            logits = self.decoder(ids, at)
            return logits, *(getattr(self.decoder.cache, name) for name in names)

    for name, cache in zip(names, caches, strict=True):
        delattr(decoder.cache, name)
        setattr(decoder.cache, name, cache)

    def export(path: Path) -> dict[str, Any]:
        example = torch.zeros(1, 4, dtype=torch.int64), torch.arange(4), *caches
        length = torch.export.Dim("length", min=1, max=PROMPT)
        shapes = ({1: length}, {0: length}, tuple({} for _ in caches))
        with torch.no_grad(), warnings.catch_warnings(action="ignore"):
            program = torch.onnx.export(
                Functional(), example, dynamo=True, verbose=False, dynamic_shapes=shapes
            )
        assert program is not None
        program.save(path, external_data=True)
        # The data is named in the file, and stays when that gets its own name.
        return {}

    path = FOLDER / f"language-{options.size}.onnx"
    keep(path, digest(torch.__version__, onnxruntime.__version__, str(SIZES[options.size])), export)
    for one in path.parent.glob(f"{path.name}*data"):
        drop_cached_pages(one)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    inputs = [given.name for given in session.get_inputs()]
    held: list[Any] = [cache.numpy() for cache in caches]

    def step(_: str, ids: Array, at: Array) -> Any:
        nonlocal held
        logits, *held = session.run(None, dict(zip(inputs, [ids, at, *held], strict=True)))
        return logits

    return step


def _decoder(size: str, mode: str) -> Any:
    """The model with its cache, in eager mode."""
    import torch

    torch.manual_seed(0)
    model = _model(size)
    with warnings.catch_warnings(action="ignore"):
        from et_ir.language_models import CachedDecoder, quantize_weights
        from et_ir.language_models import Sizes as DecoderSizes
        from et_ir.quantization import QuantizationMode

        weights = mode.removesuffix(CACHE)
        if weights != "float":
            model = quantize_weights(model, QuantizationMode.parse(weights)).module
        return CachedDecoder(model, DecoderSizes(CONTEXT, PROMPT), quantize_cache=mode.endswith(CACHE))


def _model(size: str) -> Any:
    """The model in evaluation mode, as transformers has it."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    with warnings.catch_warnings(action="ignore"):
        from transformers import LlamaConfig, LlamaForCausalLM

        config = LlamaConfig(**SIZES[size], max_position_embeddings=CONTEXT, tie_word_embeddings=False)
        return LlamaForCausalLM(config).eval()


def _compile(size: str, mode: str, backend: str, path: Path) -> dict[str, Any]:
    from bench.machine import best_instruction_set
    from et_backends.native.compiler import NativePartitioner
    from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
    from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
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
    if not native:
        return {}
    # Of the table of embeddings, a token reads a row: of floats, or of bytes with a scale.
    sizes = SIZES[size]
    row = 4 * sizes["hidden_size"] if mode.startswith("float") else sizes["hidden_size"] + 4
    unread = row * (sizes["vocab_size"] - 1)
    return {"weights": _constants(path) - unread}


def _constants(path: Path) -> int:
    """Bytes of the constants of machine code in the method for one token."""
    from et_backends.native.format import read_native
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
