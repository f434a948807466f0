"""Targets: the commands, each given a damaged file of the kinds that it takes."""

from __future__ import annotations

import io
import json
import re
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final
from unittest import mock

import numpy as np

from fuzz.documents import mutated_json, mutated_store, mutated_words, undated
from fuzz.files import damage_arrays, damage_dump, damage_record, debug_map, etdump, etrecord
from fuzz.models import language_model, schemas, sessions, tokenizer_files
from fuzz.mutations import mutated_bytes, mutated_program, mutated_values
from fuzz.targets import Case, Target, Violation
from fuzz.texts import EDGE, NET, PLAN, TO_EDGE, garbled

__all__ = ["COMMANDS", "CONTROLS", "TARGETS", "good_files", "run_command"]

_LIMITS: Final = "--memory-limit 4000000 --work-limit 100000000 --instruction-limit 100"

COMMANDS: Final = (
    f"et-vm run good.pte! --input ones {_LIMITS}",
    f"et-vm run good.pte! --poison --input random:1 {_LIMITS} --output-dir out",
    "et-vm info good.pte! --size --plan --instructions",
    "et-vm info good.pte! --json",
    "et-vm validate good.pte! --kernels portable",
    "et-vm ops good.pte!",
    "et-vm diff good.pte! good.pte",
    "et-vm diff good.pte good.pte!",
    "et-vm report good.pte! --debug-map map.json -o out.html",
    "et-vm report good.pte! --format json -o out.json",
    "et-vm profile good.pte! --repeat 1",
    f"et-vm train step.pte! --data x.npz --save out.ptd {_LIMITS.rpartition(' --')[0]}",
    "et-vm train step.pte --data x.npz! --save out.ptd",
    "et-vm train step.pte --data x.npz --save out.ptd --resume state.ptd!",
    "et-vm bundle good.pte! --input ones -o out.bpte",
    "et-vm compare good.pte! plan.mlir --all",
    "et-vm debug good.pte! --command step --command registers --command back --command continue",
    "et-vm generate lm.pte! --prompt a --tokenizer tokenizer.json --max-new-tokens 2",
    "et-vm generate lm.pte --prompt a --tokenizer tokenizer.json! --max-new-tokens 2",
    "et-vm generate lm.pte --prompt a --tokenizer tokenizer.json --max-new-tokens 2 --json-schema schema.json!",
    "et-vm generate lm.pte --prompt a --tokenizer tokenizer.json --max-new-tokens 2 --session s.safetensors!",
    f"et-vm run good.pte! --kernels aten --input ones {_LIMITS}",
    "et-translate --pte-to-mlir good.pte! -o out.mlir",
    "et-compile good.pte! -o out.pte -q",
    "et-vm verify good.bpte!",
    "et-vm info good.bpte!",
    "et-vm bundle good.bpte! --input ones -o out.bpte",
    f"et-vm run plan.mlir! --input ones {_LIMITS}",
    "et-vm run net.mlir! --input ones --instruction-limit 100",
    f"et-opt -p {TO_EDGE} net.mlir! -o out.mlir",
    "et-compile edge.mlir! -o out.pte --check-passes -q",
    "et-compile net.mlir! -o out.pte --debug-map out.json -q",
    "et-translate --mlir-to-pte plan.mlir! -o out.pte",
    "et-bisect edge.mlir! --input random:1",
    "et-translate --mlir-to-pte planned.mlir -o out.pte --weights planned.safetensors!",
    "et-vm run stored.mlir --weights stored.safetensors! --input ones",
    "et-compile stored.mlir -o out.pte -q --weights stored.safetensors!",
    "et-vm run good.pte --input x.npz!",
    "et-vm run good.pte --input x.npy!",
    "et-vm bundle stored.pte --input ones --expected y.npz! -o out.bpte",
    "et-vm compare good.pte net.mlir --debug-map map.json!",
    "et-vm profile good.pte --repeat 1 --by module --debug-map map.json!",
    "et-vm report good.pte --debug-map map.json! -o out.html",
    "et-vm debug good.pte --debug-map map.json! --command step",
    "et-vm profile --etdump run.etdp! --debug-buffer run.bin",
    "et-vm profile --etdump run.etdp --etrecord net.etrecord! --debug-buffer run.bin",
    "et-plan plan.csv! -o out.csv --budget 1000",
    "et-reduce net.mlir! --keep true -o out.mlir -q",
)
"""Command lines; the damaged file is the one before `!`."""

_STEP: Final = """program.buffer mutable @w : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
func.func @train_step(%x: tensor<2x4xf32>) -> tensor<f32> {
  %w = program.load @w : tensor<4xf32>
  %0 = edge.mul.Tensor %x, %w : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %loss = edge.mean %0 : (tensor<2x4xf32>) -> tensor<f32>
  %next = edge.mul.Scalar %w {other = 0.5} : tensor<4xf32>
  program.store @w, %next : tensor<4xf32>
  func.return %loss : tensor<f32>
}
"""

_STORED: Final = """program.parameter @w : tensor<9x9xf32> = #program.data<f32, [VALUES]>
func.func @forward(%x: tensor<2x9xf32>) -> tensor<2x9xf32> {
  %w = program.get @w : tensor<9x9xf32>
  %1 = aten.mm %x, %w : (tensor<2x9xf32>, tensor<9x9xf32>) -> tensor<2x9xf32>
  func.return %1 : tensor<2x9xf32>
}
""".replace("VALUES", ", ".join(f"{at}.0" for at in range(81)))
_PLAN_CSV: Final = (
    b"id,lower,upper,size,alignment,gaps\na,0,3,64,16,\nb,1,5,32,1,2-3\nc,3,9,128,64,\nd,4,6,16,4,\n"
)
_NUMBERS: Final = ("-1", "0", "9" * 30, "nan", ",", "\n", '"', "3-5 8-9", "x", "1e9", str(2**62), "\0")
CONTROLS: Final = re.compile(
    "[\0-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\x1b(?!\\[(?:1;3[1-6]|1)?m)"
)
"""Control characters and sequences of terminals, but for those of colours of messages; and other orders of text."""


def run_command(line: str) -> tuple[int, str, str]:
    """Exit code and output of a command."""
    name, *words = line.split()
    main = import_module(f"et_tools.{name.replace('-', '_')}").main
    # With bytes below, as the streams of a process have.
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err), mock.patch("sys.stdin", io.StringIO()):
        code = main(words)
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # pyright: ignore[reportAttributeAccessIssue]
    return code, texts[0], texts[1]


@cache
def good_files() -> dict[str, bytes]:
    """Good files by name."""
    found = {
        "net.mlir": NET.encode(),
        "edge.mlir": EDGE.encode(),
        "plan.mlir": PLAN.encode(),
        "stored.mlir": _STORED.encode(),
        "step.mlir": _STEP.encode(),
        "plan.csv": _PLAN_CSV,
        "run.etdp": etdump()[0],
        "run.bin": etdump()[1],
        "net.etrecord": etrecord(),
        "lm.pte": language_model(),
        "tokenizer.json": tokenizer_files()["tokenizer.json"],
        "schema.json": schemas()["person"],
        "s.safetensors": sessions()["saved"],
    }
    x = np.ones((2, 4), np.float32)
    with TemporaryDirectory() as name, chdir(name):
        for file, content in found.items():
            Path(file).write_bytes(content)
        np.save("x.npy", x)
        np.savez("x.npz", x)
        np.savez("y.npz", np.ones((2, 9), np.float32))
        for line in (
            "et-compile plan.mlir -q -o good.pte --debug-map map.json",
            "et-vm bundle good.pte --input x.npy -o good.bpte",
            "et-compile step.mlir -q -o step.pte --target et-vm",
            "et-vm train step.pte --data x.npz --save state.ptd",
            "et-opt stored.mlir -o stored.mlir",
            "et-compile stored.mlir -q -o stored.pte",
            "et-translate --pte-to-mlir stored.pte -o planned.mlir",
        ):
            code, _, err = run_command(line)
            assert code == 0, err
        # A text does not say modules and lines.
        rows = json.loads(Path("map.json").read_bytes())["forward"]
        (like, *_) = json.loads(debug_map())["forward"]
        placed = [row | {"module": like["module"], "source": like["source"]} for row in rows]
        Path("map.json").write_text(json.dumps({"forward": placed}))
        found = {file.name: file.read_bytes() for file in sorted(Path().iterdir())}
        return {name: undated(data) if name.endswith(".npz") else data for name, data in found.items()}


def _damaged(line: str) -> str:
    """The name of the file that is damaged."""
    return next(word[:-1] for word in line.split() if word.endswith("!"))


def _inputs() -> dict[str, bytes]:
    return {line: good_files()[_damaged(line)] for line in COMMANDS}


def _damage(base: str, data: bytes, random: Random) -> bytes:
    name = _damaged(base)
    match name.rpartition(".")[2]:
        case "pte":
            return random.choice((mutated_bytes, mutated_program, mutated_values))(data, random)
        case "mlir":
            return garbled(data.decode(), random).encode("utf-8", "surrogatepass")
        case "safetensors":
            return mutated_store(data, random)
        case "npz" | "npy" as kind:
            return damage_arrays(kind, data, random)
        case "json":
            return mutated_json(data, random)
        case "etdp":
            return damage_dump(name, data, random)
        case "etrecord":
            return damage_record(name, data, random)
        case "csv":
            return mutated_words(data.decode(), random, _CELLS, _NUMBERS).encode()
        case _:
            return mutated_bytes(data, random)


_CELLS: Final = re.compile(r"[^,\n]+|.", re.S)


def _read(case: Case, folder: Path) -> str:
    for name, content in (good_files() | {_damaged(case.base): case.content}).items():
        (folder / name).write_bytes(content)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code, out, err = run_command(case.base.replace("!", ""))
    told = f"exit code {code}: {err[-2000:]}"
    if code not in range(7) or "Traceback" in err:
        raise Violation(told)
    if code > 1 and ": error: " not in err:
        raise Violation(f"without a word: {told}")
    # The text of a language model is data where it goes to no terminal (`et_tools.streams.content`).
    printed = err if case.base.split()[:2] == ["et-vm", "generate"] else out + err
    control = CONTROLS.search(printed)
    if control is not None:
        raise Violation(f"the output has {control.group()!r}: {told}")
    after = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    changed = [name for name, content in before.items() if after.get(name) != content]
    if changed or (code > 1 and len(after) > len(before)):
        raise Violation(f"changed {changed} or left files {sorted(set(after) - set(before))}: {told}")
    return f"exit {code}"


TARGETS: Final = {"command": Target(_inputs, _damage, _read, share=60, errors=(), starts=("sh",))}
"""By name."""
