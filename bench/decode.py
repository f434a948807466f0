"""Per-token latency of a cached decoder on et-vm and in eager mode.

Both run one decoding step at a time with the same key-value cache.

    python -m bench.decode [--threads N] [--tokens 64]

The decoder of `examples/models/cached_llama.py` reads a prompt of 16 tokens and goes on. All runtimes take their
steps in turns, at the same positions, on caches of their own for 128 tokens. "aten" is our file for et-vm on torch's
out variants (goal: at most 1.0 times eager), "portable" the same on numpy; "stock" is our file for the stock runtime,
there. That no instruction copies a cache is a test: `test/conformance/test_decoder.py`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bench.measure import median_ratio, print_table, set_threads, show_time, take_turns, verdict
from et_ir.targets.lookup import DEFAULT

if TYPE_CHECKING:
    from torch import Tensor

PROMPT = 16
GOAL = 1.0


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.decode",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tokens", type=int, default=64, help="steps that are measured")
    parser.add_argument(
        "--threads", type=int, default=os.cpu_count(), help="for numpy's BLAS and torch alike"
    )
    options = parser.parse_args()
    set_threads(options.threads)  # which is why nothing above imports numpy
    import torch

    torch.set_num_threads(options.threads)
    prompt = torch.randint(0, 8192, (1, PROMPT), generator=torch.Generator().manual_seed(1))
    steps = _runtimes()
    for step in steps.values():
        step("prefill", prompt, torch.arange(PROMPT))
    at = {name: torch.tensor([PROMPT]) for name in steps}
    token = torch.tensor([[5]])

    def decode(name: str, step: Callable[[str, Tensor, Tensor], Any]) -> Callable[[], object]:
        def run() -> object:
            found = step("decode", token, at[name])
            at[name] = at[name] + 1
            return found

        return run

    seconds = take_turns({name: decode(name, step) for name, step in steps.items()}, options.tokens)
    rows: list[list[str]] = []
    for name, measured in seconds.items():
        ratio = median_ratio(measured, seconds["eager"])
        typical = sorted(measured)[len(measured) // 2]
        goal = verdict(ratio, GOAL) if name == "aten" else ""
        rows.append([name, show_time(typical), f"{ratio:.2f}", goal])
    print(f"{options.threads} threads\n")
    print_table(["decode step", "per token", "to eager", "goal"], rows)


def _runtimes() -> dict[str, Callable[[str, Tensor, Tensor], Any]]:
    """A step of each runtime, with a cache of its own."""
    import torch
    from executorch.runtime import Runtime as StockRuntime

    from bench.subjects import methods_file, quiet
    from et_vm.runtime import Runtime
    from examples.models.cached_llama import cached_llama

    model = cached_llama()["decode"][0]

    def eager(method: str, ids: Tensor, at: Tensor) -> Any:
        with torch.no_grad():
            return model(ids, at)

    def on(program: Any) -> Callable[[str, Tensor, Tensor], Any]:
        loaded = {name: program.load_method(name) for name in ("prefill", "decode")}
        return lambda method, ids, at: loaded[method].execute([ids, at])

    file = methods_file("cached_llama", cached_llama, "et-vm")
    stock_file = methods_file("cached_llama", cached_llama, DEFAULT)
    with quiet():
        stock = on(StockRuntime.get().load_program(str(stock_file)))
    return {
        "eager": eager,
        "aten": on(Runtime.get().load_program(file, kernels="aten")),
        "portable": on(Runtime.get().load_program(file, kernels="portable")),
        "stock": stock,
    }


if __name__ == "__main__":
    main()
