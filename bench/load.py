"""Loading a file: read, verified, method prepared; then another method of it; against the stock runtime.

    python -m bench.load [SUBJECT …]

A subject is an example, or a shape of `bench.growth` with a number of ops: `chain-3000`. Loading is from the path to a
method that could be executed, `load_program` and `load_method`; what a process imports the first time is not part of
it. The goal is 5 ms and 20 µs per instruction. A further method is another one of the same program, with memory of its
own. The stock runtime verifies less and prepares nothing: it is beside it for scale. Times are of the processor.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any, Final

from bench.measure import median_ratio, print_table, progress, rounds_for, show_time, take_turns, verdict

FIXED: Final = 5e-3
PER_INSTRUCTION: Final = 20e-6


def shape_file(name: str) -> Path:
    """The program of a shape of `bench.growth`, `SHAPE-SIZE`, without optimization: an instruction for each op."""
    from bench.growth import SHAPES
    from bench.subjects import FOLDER
    from et_ir.driver.configs import EdgeCompileConfig, ExecutorchBackendConfig
    from et_ir.driver.observer import Observer
    from et_ir.driver.stages import backend_stage, edge_stages, executorch_stage, run_stages
    from et_ir.emit.emit import write
    from et_ir.text import parse_module
    from et_tools.reading import compiler_context
    from examples.artefacts import digest, keep
    from examples.stages import compiler_key

    shape, _, size = name.rpartition("-")

    def make(path: Path) -> dict[str, Any]:
        config = ExecutorchBackendConfig(target="stock-1.5", level="0")
        stages = [*edge_stages(EdgeCompileConfig(level="0")), backend_stage(), executorch_stage(config)]
        module = parse_module(compiler_context(), SHAPES[shape](int(size)))
        run_stages(module, stages, Observer())
        with path.open("wb") as stream:
            write(module, stream)
        return {}

    path = FOLDER / f"{name}.load.pte"
    keep(path, digest(Path(__file__).with_name("growth.py"), compiler_key()), make)
    return path


def row(name: str) -> list[str]:
    from executorch.runtime import Runtime as Stock

    from bench.growth import SHAPES
    from bench.subjects import file, quiet, subject
    from et_vm.runtime import Runtime

    path = shape_file(name) if name.rpartition("-")[0] in SHAPES else file(subject(name), "ours")
    runtime, stock = Runtime(), Stock.get()
    program = runtime.load_program(path)

    def load() -> Any:
        return runtime.load_program(path).load_method("forward")

    def load_further() -> Any:
        return program.instance().load_method("forward")

    def load_stock() -> Any:
        return stock.load_program(str(path)).load_method("forward")

    instructions = program.load_method("forward").metadata.num_instructions()
    with quiet():
        runs = {"first": load, "further": load_further, "stock": load_stock}
        pace = sum(times[0] for times in take_turns(runs, 1).values())
        # Processor time, as no part of it waits: of files in memory, on one thread.
        seconds = take_turns(runs, rounds_for(pace, budget=5), clock=time.process_time)
    first, further = (statistics.median(seconds[which]) for which in ("first", "further"))
    goal = FIXED + PER_INSTRUCTION * instructions
    return [
        name,
        f"{instructions:,}",
        show_time(first),
        show_time(statistics.median(seconds["stock"])),
        f"{median_ratio(seconds['first'], seconds['stock']):.2f}",
        show_time(goal),
        f"{first / goal:.2f}",
        verdict(first / goal, 1.0),
        f"{first / instructions * 1e6:.1f}",
        f"{further / instructions * 1e6:.1f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.load",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "subject", nargs="*", help="examples, or shapes with sizes; all examples unless given"
    )
    options = parser.parse_args()
    from bench.subjects import NAMES, TRAINED

    names = options.subject or [*NAMES, *TRAINED]
    heads = (
        "subject",
        "instructions",
        "ours",
        "stock",
        "ratio",
        "goal",
        "share",
        "",
        "µs per instruction",
        "of a further method",
    )
    print_table(heads, [row(name) for name in progress(names, "load")])


if __name__ == "__main__":
    main()
