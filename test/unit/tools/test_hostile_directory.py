"""Every command in a hostile folder: what is read, written and executed there is what the command line names.

The folder has modules with names of the library's, links out of it, a weight store that must not be written, and names
with sequences for terminals. Commands run without a home, as a user whom the system does not know, and then with closed
streams and with a full disk.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from fuzz.commands import CONTROLS, good_files
from fuzz.models import language_model, model_files, tokenizer_files
from support.traced_commands import Traced, require_strace, traced, unknown_user
from support.vm_programs import Build

from et_tools.vm_verbs import VERBS

TITLE: Final = "\x1b]0;title\x07"
STORE: Final = "stored.safetensors"
PLANTED: Final = (
    *(
        "json",
        "numpy",
        "torch",
        "xdsl",
        "argparse",
        "pathlib",
        "sitecustomize",
        "usercustomize",
        "et_vm",
        "et_tools",
    ),
    *("transformers", "mimetypes", "readline"),
)


class Line(NamedTuple):
    """A command line, its exit code, and the names of the files that it may read and write."""

    words: str
    code: int = 0
    reads: str = ""
    writes: str = ""
    full: int | None = 2
    """Its exit code where files may have no bytes; `None` where it writes none."""


LINES: Final = (
    Line("et-vm run good.pte --input x.npy --output-dir out", 0, "good.pte x.npy", "out"),
    Line("et-vm run stored.mlir --input ones", 0, "stored.mlir stored.safetensors", full=None),
    Line("et-vm generate lm.pte --prompt a --max-new-tokens 2", 0, "lm.pte lm.tokenizer", full=None),
    Line("et-vm debug good.pte --command step --command registers", 0, "good.pte", full=None),
    Line("et-vm profile good.pte --repeat 1 --no-peak --trace t.json", 0, "good.pte", "t.json"),
    Line("et-vm train step.pte --data x.npz --save s.ptd", 0, "step.pte x.npz", "s.ptd"),
    Line("et-vm info hostile.pte --plan --instructions", 0, "hostile.pte", full=None),
    Line(f"et-vm info {TITLE}.pte", 0, f"{TITLE}.pte", full=None),
    Line("et-vm report good.pte --debug-map map.json -o r.html", 0, "good.pte map.json", "r.html"),
    Line("et-vm diff hostile.pte good.pte", 1, "hostile.pte good.pte", full=None),
    Line("et-vm compare good.pte good.pte --input x.npy", 0, "good.pte x.npy", full=None),
    Line("et-vm ops good.pte -o ops.yaml", 0, "good.pte", "ops.yaml"),
    Line("et-vm build --target host --ops stored.pte --cc false -o built", 5, "stored.pte", "built"),
    Line("et-vm bundle good.pte --input x.npy -o b.bpte", 0, "good.pte x.npy", "b.bpte"),
    Line("et-vm verify good.bpte", 0, "good.bpte", full=None),
    Line("et-vm validate good.pte", 0, "good.pte", full=None),
    Line("et-plan plan.csv -o l.csv", 0, "plan.csv", "l.csv"),
    Line("et-translate --pte-to-mlir good.pte -o t.mlir", 0, "good.pte", "t.mlir"),
    Line("et-opt stored.mlir -o linked.mlir", 2, f"stored.mlir {STORE}"),
    Line("et-opt stored.mlir -o o.mlir", 0, f"stored.mlir {STORE}", "o.mlir o.safetensors"),
    Line("et-compile stored.mlir -q -o c.pte --debug-map d.json", 0, f"stored.mlir {STORE}", "c.pte d.json"),
    Line("et-compile hf:model -q -o m.pte", 3, "model", full=None),
    Line("et-bisect edge.mlir --input x.npy", 1, "edge.mlir x.npy", full=None),
    Line("et-reduce net.mlir --keep true -q -o n.mlir", 0, "net.mlir", "n.mlir"),
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder `place`, beside one with files that are no concern of the commands."""
    root = tmp_path_factory.mktemp("hostile")
    place, outside = root / "place", root / "outside"
    for folder in (place, outside):
        folder.mkdir()
    for name, content in good_files().items():
        (place / name).write_bytes(content)
    for name in PLANTED:
        (place / f"{name}.py").write_text(f"open({str(root / 'executed')!r}, 'a').write({name!r})\n")
    shutil.copy(place / STORE, outside / "victim.safetensors")
    (outside / "victim.safetensors").chmod(0o444)
    (place / STORE).chmod(0o444)
    (place / "linked.safetensors").symlink_to(outside / "victim.safetensors")
    shutil.copy(place / "good.pte", place / f"{TITLE}.pte")
    build = Build(f"forward{TITLE}")
    x = build.tensor(2, name=f"x{TITLE}")
    build.call(f"acme::{TITLE}.out", x, x)
    build.inputs(x)
    build.outputs(x)
    (place / "hostile.pte").write_bytes(build.file())
    (place / "lm.pte").write_bytes(language_model())
    for folder, files in (("lm.tokenizer", tokenizer_files()), ("model", model_files())):
        (place / folder).mkdir()
        for name, content in files.items():
            (place / folder / name).write_bytes(content)
    shard = place / "model" / "model-1.safetensors"
    shard.rename(outside / shard.name)
    shard.symlink_to(outside / shard.name)
    return root


def _environment() -> dict[str, str]:
    """Without a home, a name and places for temporary files; modules of the tests are not the command's."""
    kept = ("PATH", "LC_ALL", "OMP_NUM_THREADS", "LD_LIBRARY_PATH", "HF_HUB_OFFLINE")
    return {name: os.environ[name] for name in kept if name in os.environ}


def _run(hostile: Path, line: Line, tmp_path: Path, *, shell: str = "") -> tuple[Traced, Path]:
    """Run a command in a copy of the folder."""
    root = tmp_path / "copy"
    shutil.copytree(hostile, root, symlinks=True)
    place = root / "place"
    for path in (place / "linked.safetensors", place / "model" / "model-1.safetensors"):
        target = root / "outside" / path.readlink().name
        path.unlink()
        path.symlink_to(target)
    ran = traced(
        line.words.split(" "),
        place,
        tmp_path / "trace",
        _environment() | {"TMPDIR": str(tmp_path)},
        user=unknown_user(),
        shell=shell,
    )
    return ran, root


_CODE: Final = tuple(
    f"{folder}/"
    for name in (
        str(Path(__file__).parents[3]),
        sys.prefix,
        sys.base_prefix,
        "/usr",
        "/lib",
        "/proc",
        "/sys",
        "/dev",
    )
    for folder in {name, os.path.realpath(name)}
)
_FILES: Final = (
    "ld.so.cache",
    "ld.so.preload",
    "localtime",
    "passwd",
    "group",
    "nsswitch.conf",
    "mime.types",
)
_SYSTEM: Final = frozenset(map(Path, ("/", "/etc", "/run", *(f"/etc/{name}" for name in _FILES))))


_TEMPORARY: Final = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")
"""Names of files that are to take the place of others, or show that a folder can be written."""


def _is_of_system(path: Path) -> bool:
    """Whether a file is code, or what a library reads of the system."""
    return path in _SYSTEM or f"{os.path.normpath(path)}/".startswith(_CODE)


def _files(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and not path.is_symlink()}


def _check(ran: Traced, line: Line, code: int, place: Path, temporary: Path) -> None:
    """What the command said, read and executed."""
    told = f"{line.words!r}: {ran.out[-1000:]}\n{ran.err[-3000:]}"
    assert ran.code == code, told
    assert "Traceback" not in ran.err, told
    assert CONTROLS.search(ran.out + ran.err) is None, told
    assert not (place.parent / "executed").exists(), (place.parent / "executed").read_text()
    named = [place / name for name in (*line.reads.split(" "), *line.writes.split(" ")) if name]
    strays = sorted(
        str(path)
        for path in ran.read - {place}
        if not _is_of_system(path)
        and not any(path.is_relative_to(one) for one in named)
        and not (path.is_relative_to(temporary) and not path.is_relative_to(place.parent))
    )
    assert not strays, f"read {strays}: {told}"
    programs = {Path(words.split(" ")[0]) for words in ran.executed}
    # Those of the options --cc and --keep, and of this test.
    others = {path for path in programs - {Path(sys.executable)} if path.name not in ("sh", "true", "false")}
    assert not others, told


@pytest.mark.parametrize("line", LINES, ids=lambda line: ascii(line.words))
def test_what_a_command_reads_writes_and_executes(hostile: Path, tmp_path: Path, line: Line) -> None:
    require_strace()
    ran, root = _run(hostile, line, tmp_path)
    place = root / "place"
    _check(ran, line, line.code, place, tmp_path)
    outputs = [place / name for name in line.writes.split(" ") if name]
    strays = sorted(
        str(path)
        for path in ran.written
        if path != Path("/dev/null")
        and "__pycache__" not in path.parts
        and not any(path.is_relative_to(one) for one in outputs)
        and not (path.parent == place and _TEMPORARY.fullmatch(path.name))
        and not (path.is_relative_to(tmp_path) and not path.is_relative_to(root))
    )
    assert not strays, f"wrote {strays}"
    for path, content in _files(hostile).items():
        there = root / path.relative_to(hostile)
        assert there in outputs or there.read_bytes() == content, there
    assert not list(root.rglob(".*.tmp"))


LIGHT: Final = [
    line for line in LINES if not line.words.startswith(("et-bisect", "et-reduce", "et-compile hf"))
]
"""What is run thrice: each command but those that take seconds."""


@pytest.mark.parametrize("line", LIGHT, ids=lambda line: ascii(line.words))
def test_closed_streams(hostile: Path, tmp_path: Path, line: Line) -> None:
    """No output file gets the number of a stream, and so what is printed."""
    require_strace()
    ran, root = _run(hostile, line, tmp_path, shell='exec "$@" <&- >&- 2>&-')
    _check(ran, line, line.code, root / "place", tmp_path)
    for path, content in _files(hostile).items():
        assert (root / path.relative_to(hostile)).read_bytes() == content, path


@pytest.mark.parametrize(
    "line", [line for line in LIGHT if line.full is not None], ids=lambda line: ascii(line.words)
)
def test_a_full_disk(hostile: Path, tmp_path: Path, line: Line) -> None:
    require_strace()
    ran, root = _run(hostile, line, tmp_path, shell='ulimit -f 0; exec "$@"')
    assert line.full is not None
    _check(ran, line, line.full, root / "place", tmp_path)
    there = {path.relative_to(root) for path in root.rglob("*") if path.is_file()}
    assert there == {path.relative_to(hostile) for path in hostile.rglob("*") if path.is_file()}


def test_every_command_and_verb() -> None:
    words = {line.words.split(" ")[0] for line in LINES}
    # The models of a sweep are code, which runs as it is.
    assert {path.name for path in Path(sys.executable).parent.glob("et-*")} <= words | {"et-sweep"}
    assert {verb.name for verb in VERBS} == {
        line.words.split(" ")[1] for line in LINES if line.words.startswith("et-vm ")
    }
