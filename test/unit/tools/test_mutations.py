"""Damaged files and texts: whatever they say, a command ends with a code and, if it fails, a message, and soon.

The damage is the same in every run. The fixture `command` fails on exceptions, on tracebacks, on failures without a
word and on temporary files that stay.
"""

from __future__ import annotations

import io
import random
import re
from collections import Counter
from pathlib import Path

import numpy as np
from fuzz.texts import NET, TO_EDGE, TO_PLAN, garbled
from support.command_line import Command


def flipped(data: bytes, rng: random.Random) -> bytes:
    """`data` with a few bytes replaced."""
    damaged = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(damaged))
        damaged[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, damaged[at] ^ 1 << rng.randrange(8)))
    return bytes(damaged)


def test_bytes_of_a_program(command: Command) -> None:
    Path("net.mlir").write_text(NET)
    assert command("et-compile", "net.mlir", "-o", "net.pte", "-q").code == 0
    data = Path("net.pte").read_bytes()
    codes: Counter[int] = Counter()
    for seed in range(200):
        Path("bad.pte").write_bytes(flipped(data, random.Random(seed)))
        Path("out.mlir").write_text("before")
        ran = command("et-vm", "run", "bad.pte")
        validated = command("et-vm", "validate", "bad.pte", "--kernels", "portable")
        translated = command("et-translate", "--pte-to-mlir", "bad.pte", "-o", "out.mlir")
        assert ran.code in (0, 3, 4, 5, 6), seed
        assert validated.code in (0, 1, 3, 4, 5, 6), seed
        assert translated.code in (0, 3), seed
        # What cannot be loaded is not valid, and what is not valid is not read as something else.
        assert validated.code == 0 or ran.code in (0, 5) or validated.code == ran.code, seed
        assert (Path("out.mlir").read_text() == "before") == (translated.code == 3), seed
        codes[ran.code] += 1
    assert codes[0] > 10
    assert codes[3] > 100


def test_bytes_of_an_input(command: Command) -> None:
    assert command("et-compile", "relu.mlir", "-o", "relu.pte", "-q").code == 0
    Path("out").mkdir()
    Path("out/output_0.npy").write_bytes(b"before")
    for save, name in ((np.save, "x.npy"), (np.savez, "x.npz")):
        stream = io.BytesIO()
        save(stream, np.ones(4, np.float32))
        codes: Counter[int] = Counter()
        for seed in range(80):
            Path(name).write_bytes(flipped(stream.getvalue(), random.Random(seed)))
            code = command("et-vm", "run", "relu.pte", "--input", name).code
            assert code in (0, 2), seed
            if code:
                assert command("et-vm", "run", "relu.pte", "--input", name, "--output-dir", "out").code == 2
            codes[code] += 1
        assert min(codes.values()) > 5
    assert Path("out/output_0.npy").read_bytes() == b"before"


def test_words_of_a_text(command: Command) -> None:
    """At the first level through every pass to the last, at the last through its verifier."""
    Path("net.mlir").write_text(NET)
    assert command("et-compile", "net.mlir", "--emit", "executorch", "-q", "-o", "plan.mlir").code == 0
    codes: Counter[int] = Counter()
    for text, pipeline, count in (
        (NET, f"{TO_EDGE},{TO_PLAN}", 120),
        (Path("plan.mlir").read_text(), "verify-executorch", 80),
    ):
        assert command("et-opt", "-p", pipeline, stdin=text.encode()).code == 0
        for seed in range(count):
            Path("bad.mlir").write_text(garbled(text, random.Random(seed)))
            Path("out.mlir").write_text("before")
            ran = command("et-opt", "-p", pipeline, "bad.mlir", "-o", "out.mlir")
            assert ran.code in (0, 3, 4, 6), seed
            assert ran.out == ""
            if ran.code:
                assert re.match(r"bad\.mlir:\d+:\d+: error: ", ran.err), seed
                assert Path("out.mlir").read_text() == "before"
            codes[ran.code] += 1
    assert codes[0] > 10
    assert codes[3] > 100
