"""Compile all-MiniLM-L6-v2, embed real sentences on the VM, find the nearest to a question.

    python -m examples.sentences                                  # some questions that come with it
    python -m examples.sentences "Who owns the stars?"            # your own

Exit codes: 0 when the VM's embeddings are eager's (rtol 1e-4, atol 1e-5), 1 when they are not, 2 for wrong
usage.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from et_tools.op_table import print_op_table
from et_vm.runtime import Runtime
from examples.artefacts import digest
from examples.sentences import encoder, texts
from examples.stages import arena_bytes, compile_once


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m examples.sentences",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("question", nargs="*", help="sentences to find the nearest of the library to")
    parser.add_argument("--output-dir", type=Path, default=Path("build/sentences"))
    options = parser.parse_args(arguments)
    questions: list[str] = options.question or [question for question, _ in texts.QUESTIONS]
    library = [sentence for _, sentence in texts.LIBRARY]

    try:
        tokens = encoder.tokenise([*library, *questions])
    except ValueError as error:
        parser.error(str(error))
    model = encoder.load()
    path: Path = options.output_dir / "model.pte"
    weights = Path(encoder.get_model_path()) / "model.safetensors"
    key = digest(Path(encoder.__file__), weights, transformers.__version__)
    levels = compile_once(path, key, model, tokens[0])
    print(flush=True)
    print_op_table(levels, sys.stdout)
    print()

    method = Runtime.get().load_program(path).load_method("forward")
    actual: list[NDArray[np.float32]] = []
    expected: list[NDArray[np.float32]] = []
    vm_seconds: list[float] = []
    eager_seconds: list[float] = []
    for ids, mask in tokens:
        inputs = [ids.numpy(), mask.numpy()]
        start = time.perf_counter()
        actual.append(method.execute(inputs)[0][0])
        vm_seconds.append(time.perf_counter() - start)
        start = time.perf_counter()
        with torch.no_grad():
            expected.append(model(ids, mask)[0].numpy())
        eager_seconds.append(time.perf_counter() - start)

    embeddings, queries = np.stack(actual[: len(library)]), np.stack(actual[len(library) :])
    similarity = queries @ embeddings.T
    for question, scores in zip(questions, similarity, strict=True):
        best = int(scores.argmax())
        print(f"? {question}\n  {library[best]}\n  {scores[best]:.2f}  {texts.LIBRARY[best][0]}\n")

    difference = float(np.abs(np.stack(actual) - np.stack(expected)).max())
    print(f"embeddings  {len(tokens)} sentences; et-vm differs from eager by at most {difference:.1e}")
    vm, eager = statistics.median(vm_seconds) * 1e3, statistics.median(eager_seconds) * 1e3
    tokens_each = encoder.LENGTH
    print(
        f"latency     et-vm {vm:.1f} ms, eager {eager:.1f} ms per sentence of {tokens_each} tokens (median)"
    )
    print(f"arena       {arena_bytes(path):,} bytes")
    if not np.allclose(np.stack(actual), np.stack(expected), rtol=1e-4, atol=1e-5):
        print("error: the embeddings are not eager's", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
