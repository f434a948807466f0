"""Delegation by our partitioners against stock's, of the same exported programs: what is left out, and compile times.

    python -m bench.delegation [--turns N] [--backends xnnpack,vulkan-graph] [MODEL …]

"left" are the instructions of a file that are no delegate's, of those which the runtime would execute. "compile" is
the processor time of one compilation to bytes, all threads and child processes included: the minimum over turns in
which both compilers take turns in one process. Goals: no more left than by stock's, compile at most half.

Stock's partitioner for `tosa` needs packages that conflict with ours: for it, both compilers run in the environment of
`make tosa-tools`, with this one's packages behind its own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.measure import print_table, progress, show_time, verdict
from bench.xnnpack import kernel_calls

COMPILE_GOAL = 0.5
TOSA_TOOLS = Path(".venv-tosa")
BOTH_ENVIRONMENTS = """
import runpy, sys
import ml_dtypes, numpy
# The environment's own flatbuffers is older than what et_schema needs.
packages = sys.argv.pop(1)
sys.path.insert(0, packages)
import flatbuffers.builder
sys.path.remove(packages)
sys.path.append(packages)
runpy.run_module("bench.delegation", run_name="__main__", alter_sys=True)
"""
MODELS = ("mobilenet_v2", "mobilenet_v3", "resnet18", "bert", "llama", "vit", "unet", "detector")


def _ours(backend: str) -> Callable[[Any], bytes]:
    from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
    from et_ir.backends import make_partitioner

    def compile_ours(program: Any) -> bytes:
        partitioner = make_partitioner(backend)
        edge = to_edge_transform_and_lower(program, partitioner=partitioner)
        return edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer

    return compile_ours


def _stock(backend: str) -> Callable[[Any], bytes]:
    """Stock's compiler with its partitioner. Raises ImportError for one whose packages are not installed."""
    with warnings.catch_warnings(action="ignore"):
        from executorch.exir import to_edge_transform_and_lower

        partitioner: Callable[[], Any]
        match backend:
            case "xnnpack":
                from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

                partitioner = XnnpackPartitioner
            case "vulkan-graph":
                from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner

                partitioner = VulkanPartitioner
            case "openvino":
                from executorch.backends.openvino.partitioner import OpenvinoPartitioner
                from executorch.exir.backend.compile_spec_schema import CompileSpec

                def openvino() -> Any:
                    return OpenvinoPartitioner([CompileSpec("device", b"CPU")])

                partitioner = openvino
            case "coreml":
                from executorch.backends.apple.coreml.partition import CoreMLPartitioner

                partitioner = CoreMLPartitioner
            case "tosa":
                from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
                from executorch.backends.arm.tosa.partitioner import TOSAPartitioner

                def tosa() -> Any:
                    return TOSAPartitioner(TosaCompileSpec("TOSA-1.0+FP+INT"))

                partitioner = tosa
            case _:
                raise ImportError(f"stock has no partitioner for {backend} here")

    def compile_stock(program: Any) -> bytes:
        lowered = to_edge_transform_and_lower(program, partitioner=[partitioner()])
        return lowered.to_executorch().buffer

    return compile_stock


def _processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def row(backend: str, name: str, turns: int) -> list[str]:
    from bench.subjects import quiet, subject

    program = subject(name).export()
    compilers = {"ours": _ours(backend), "stock": _stock(backend)}
    seconds = dict.fromkeys(compilers, float("inf"))
    left: dict[str, int] = {}
    for _ in range(turns):
        for which, run in compilers.items():
            start = _processor_seconds()
            with quiet(), warnings.catch_warnings(action="ignore"):
                file = run(program)
            seconds[which] = min(seconds[which], _processor_seconds() - start)
            left[which] = kernel_calls(file)
    ratio = seconds["ours"] / seconds["stock"]
    return [
        backend,
        name,
        str(left["ours"]),
        str(left["stock"]),
        verdict(left["ours"], left["stock"]),
        show_time(seconds["ours"]),
        show_time(seconds["stock"]),
        f"{ratio:.2f}",
        verdict(ratio, COMPILE_GOAL),
    ]


def _with_tosa_tools(arguments: list[str]) -> None:
    """Run this program in the environment of TOSA's tools."""
    python = TOSA_TOOLS / "bin/python"
    if not python.exists():
        print(f"tosa: no environment {TOSA_TOOLS}: run `make tosa-tools`", file=sys.stderr)
        return
    packages = sysconfig.get_paths()["purelib"]
    subprocess.run([python, "-W", "ignore", "-c", BOTH_ENVIRONMENTS, packages, *arguments], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.delegation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", nargs="*", help=f"of {', '.join(MODELS)}; all unless given")
    parser.add_argument(
        "--backends", default="xnnpack,vulkan-graph,openvino", help="names, separated by commas"
    )
    parser.add_argument("--turns", type=int, default=2, help="compilations by each compiler")
    options = parser.parse_args()
    head = ["backend", "model", "left", "stock", "goal", "compile", "stock", "ratio", "goal"]
    backends = options.backends.split(",")
    if "tosa" in backends and find_spec("tosa_serializer") is None:
        backends.remove("tosa")
        _with_tosa_tools(["--backends", "tosa", "--turns", str(options.turns), *options.model])
    pairs = [(backend, name) for backend in backends for name in options.model or MODELS]
    if not pairs:
        return
    rows: list[list[str]] = []
    for backend, name in progress(pairs, "delegation"):
        try:
            rows.append(row(backend, name, options.turns))
        except ImportError as error:
            print(f"{backend}, {name}: no partitioner of stock's: {error}", file=sys.stderr)
    print()
    print_table(head, rows)


if __name__ == "__main__":
    main()
