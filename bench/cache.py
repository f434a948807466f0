"""Compilations with a cache: the second of a model, and one after the weights or the shape of a layer have changed.

    python -m bench.cache [MODEL …] [--backend NAME]

Each is one of a process of its own, from an ExportedProgram to bytes, as a ratio of processor time to the first, which
finds an empty cache. "uncached" is the first without a cache: what keeping results costs is the difference.
Bytes with a cache are compared with those without.
Goals: 0.1 for the second, 0.4 after a changed layer.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from hashlib import sha256

import torch

from bench.measure import environment, print_table, progress, show_time, verdict
from bench.subjects import NAMES, TRAINED, subject

GOALS = {"second": 0.1, "layer": 0.4}


def changed(module: torch.nn.Module, change: str) -> None:
    """Change the last layer that has a bias: its values (`weights`), or that there is one (`layer`)."""
    layer = [one for one in module.modules() if getattr(one, "bias", None) is not None][-1]
    if change == "weights":
        with torch.no_grad():
            layer.bias.add_(1)
    elif change == "layer":
        layer.bias = None


def compile_once(name: str, backend: str, folder: str, change: str) -> tuple[float, str]:
    """Processor time of a compilation in this process, and the hash of its bytes; no folder is no cache."""
    from et_ir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
    from et_ir.backends import make_partitioner
    from et_ir.cache.store import Store, caching

    made = subject(name)
    changed(made.module, change)
    program = made.export()
    start = time.process_time()
    with caching(Store(folder) if folder else None):
        edge = to_edge_transform_and_lower(
            program, partitioner=[make_partitioner(backend)], compile_config=EdgeCompileConfig()
        )
        content = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    return time.process_time() - start, sha256(content).hexdigest()


def in_process(name: str, backend: str, folder: str, change: str = "") -> tuple[float, str]:
    """The same, in a process of its own."""
    line = [sys.executable, "-W", "ignore", "-m", "bench.cache", "--once", folder, change]
    process = subprocess.run(
        [*line, "--backend", backend, name], check=True, env=environment(), stdout=subprocess.PIPE, text=True
    )
    seconds, digest = process.stdout.split()[-2:]
    return float(seconds), digest


def row(name: str, backend: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        first, bytes_first = in_process(name, backend, folder)
        second, bytes_second = in_process(name, backend, folder)
        weights, bytes_weights = in_process(name, backend, folder, "weights")
        layer, bytes_layer = in_process(name, backend, folder, "layer")
    uncached, expected = in_process(name, backend, "")
    same = [bytes_first, bytes_second] == [expected, expected]
    same = same and bytes_weights == in_process(name, backend, "", "weights")[1]
    same = same and bytes_layer == in_process(name, backend, "", "layer")[1]
    ratios = [second / first, weights / first, layer / first]
    return [
        name,
        show_time(uncached),
        show_time(first),
        *(f"{ratio:.2f}" for ratio in ratios),
        "equal" if same else "different",
        f"{verdict(ratios[0], GOALS['second'])}, {verdict(max(ratios[1:]), GOALS['layer'])}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.cache",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "model", nargs="*", help=f"of {', '.join((*NAMES, *TRAINED))}; mobilenet_v2 unless given"
    )
    parser.add_argument("--backend", default="native", help="backend (%(default)s)")
    parser.add_argument("--once", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        print(*compile_once(options.model[0], options.backend, *options.once))
        return
    print_table(
        ["model", "uncached", "first", "second", "weights", "layer", "bytes", "goals"],
        [row(name, options.backend) for name in progress(options.model or ["mobilenet_v2"], "compile")],
    )


if __name__ == "__main__":
    main()
