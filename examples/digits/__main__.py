"""Train a small network on handwritten digits, compile it, run it on the VM, compare with eager.

    python -m examples.digits                       # results in build/digits
    python -m examples.digits --output-dir /tmp/d   # somewhere else

Exit codes: 0 when the VM predicts what eager predicts, 1 when it does not, 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from et_tools.op_table import print_op_table
from et_vm.runtime import Runtime
from examples.artefacts import digest, keep
from examples.digits import art, network
from examples.digits import quantized as integers
from examples.stages import arena_bytes, compile_once, compiler_key

SHOWN = 6


def trained(directory: Path, data: network.Digits) -> tuple[network.DigitsNet, str]:
    """The trained network and the key of its weights; trains only if the recipe changed."""
    weights = directory / "weights.pt"
    key = digest(Path(network.__file__), torch.__version__)

    def make(path: Path) -> dict[str, Any]:
        start = time.perf_counter()
        torch.save(network.train(data).state_dict(), path)
        return {"seconds": time.perf_counter() - start}

    notes, made = keep(weights, key, make)
    how = f"{notes['seconds']:6.2f} s" if made else "kept from an earlier run"
    print(f"train       {how}: {len(data.train_labels)} digits, {network.EPOCHS} epochs", flush=True)
    model = network.DigitsNet().eval()
    model.load_state_dict(torch.load(weights, weights_only=True))
    return model, key


def timed(
    predict: Callable[[Any], np.ndarray[Any, Any]], images: list[Any]
) -> tuple[np.ndarray[Any, Any], float]:
    """Logits `[N, 10]` of the images one by one, and the median seconds per image."""
    predict(images[0])
    logits: list[np.ndarray[Any, Any]] = []
    seconds: list[float] = []
    for image in images:
        start = time.perf_counter()
        result = predict(image)
        seconds.append(time.perf_counter() - start)
        logits.append(result)
    return np.concatenate(logits), statistics.median(seconds)


def show(images: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], guesses: np.ndarray[Any, Any]) -> None:
    """Print a few digits with their predictions: the wrong ones first, as they are the interesting ones."""
    order = np.argsort(guesses == labels, kind="stable")[:SHOWN]
    blocks = art.BLOCKS if (sys.stdout.encoding or "").lower().startswith("utf") else art.ASCII
    pictures = [art.draw(images[i, 0], blocks) for i in order]
    captions = [
        f"{guesses[i]}" if guesses[i] == labels[i] else f"{guesses[i]} (really {labels[i]})" for i in order
    ]
    print("\n" + "\n".join(art.beside(pictures, captions)) + "\n")


def in_integers(directory: Path, key: str, model: network.DigitsNet) -> Path:
    """The file of the network after static quantization to 8 bits; made only if something changed."""

    def make(path: Path) -> dict[str, Any]:
        from et_ir import ExecutorchBackendConfig, to_edge

        edge = to_edge(integers.quantized("int8", model))
        edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).save(path)
        return {}

    path = directory / "int8.pte"
    keep(path, digest(key, compiler_key(), Path(integers.__file__)), make)
    return path


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m examples.digits",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output-dir", type=Path, default=Path("build/digits"))
    directory: Path = parser.parse_args(arguments).output_dir

    data = network.dataset()
    model, key = trained(directory, data)
    path = directory / "model.pte"
    levels = compile_once(path, key, model, (data.test_images[:1],))
    print(flush=True)
    print_op_table(levels, sys.stdout)

    method = Runtime.get().load_program(path).load_method("forward")
    images, labels = data.test_images.numpy(), data.test_labels.numpy()
    with torch.no_grad(), network.one_thread():
        expected, eager_seconds = timed(lambda x: model(x).numpy(), list(data.test_images.split(1)))
    actual, vm_seconds = timed(lambda x: method.execute([x])[0], np.split(images, len(images)))
    guesses = actual.argmax(1)
    show(images, labels, guesses)

    right, eager_right = int((guesses == labels).sum()), int((expected.argmax(1) == labels).sum())
    print(f"accuracy    et-vm {right / len(labels):.2%}, eager {eager_right / len(labels):.2%}", end=" ")
    print(f"({right} and {eager_right} of {len(labels)} held-out digits)")
    print(f"logits      differ by at most {np.abs(actual - expected).max():.1e}")
    print(
        f"latency     et-vm {vm_seconds * 1e3:.3f} ms, eager {eager_seconds * 1e3:.3f} ms per digit (median)"
    )
    print(f"arena       {arena_bytes(path):,} bytes", flush=True)
    small = in_integers(directory, key, model)
    method = Runtime.get().load_program(small).load_method("forward")
    found = np.concatenate([method.execute([x])[0] for x in np.split(images, len(images))]).argmax(1)
    print(
        f"int8        et-vm {(found == labels).mean():.2%}, {small.stat().st_size:,} bytes "
        f"({small.stat().st_size / path.stat().st_size:.2f} of the file in floats)"
    )
    if not np.array_equal(guesses, expected.argmax(1)):
        print("error: et-vm and eager do not agree on every digit", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
