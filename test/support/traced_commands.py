"""Commands in processes of their own, with what they read, write and execute as strace tells."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

import pytest

__all__ = ["Traced", "require_strace", "traced", "unknown_user"]

TRACER: Final = "strace"
_READS: Final = ("open", "openat", "openat2")
_CHANGES: Final = (
    "creat,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,symlink,symlinkat,truncate,chmod,"
    "fchmodat,chown,lchown,fchownat,mknod,mknodat,utime,utimensat"
)
_LINE: Final = re.compile(r"(?:\d+ +)?(\w+)\((.*)\) += (-?\d+|\?)")
_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\.\.\.)?')
_DESCRIPTOR: Final = re.compile(r"(?:AT_FDCWD|\d+)<([^>]*)>")
_WRITING: Final = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND")


def require_strace() -> None:
    """Skip the test where there is no strace, or it may not trace; fail there in CI."""
    trial = ["strace", "-f", "-o", os.devnull, "true"]
    if shutil.which(TRACER) and subprocess.run(trial, capture_output=True, check=False).returncode == 0:
        return
    if os.environ.get("CI"):
        pytest.fail(f"{TRACER} (Debian's package of that name) is missing, or may not trace processes")
    pytest.skip(f"{TRACER} is not installed")


@cache
def unknown_user() -> tuple[str, ...]:
    """A command that runs another as a user whom the system does not know, and who may do what this one may: in a
    namespace of its own. Empty where the system refuses that.
    """
    line = ("unshare", "--user", "--map-user=54321")
    if shutil.which(line[0]) is None:
        return ()
    return line if subprocess.run([*line, "true"], capture_output=True, check=False).returncode == 0 else ()


@dataclass
class Traced:
    """What a command and the processes that it started did with the file system."""

    code: int
    out: str
    err: str
    read: set[Path] = field(default_factory=set)
    """Files and folders that were opened for reading."""
    written: set[Path] = field(default_factory=set)
    """Files that were opened for writing, and those and folders that were made, renamed or removed."""
    executed: list[str] = field(default_factory=list)
    """Programs, with their arguments."""


def traced(
    words: Sequence[str],
    folder: Path,
    trace: Path,
    environment: Mapping[str, str],
    *,
    user: Sequence[str] = (),
    shell: str = "",
) -> Traced:
    """Run a command of this project in a folder, by way of the command `user`, and of a script `shell` of the shell, in
    which it is `"$@"`.
    """
    line = [
        *user,
        *(TRACER, "-ff", "-qq", "-y", "--seccomp-bpf", "-s", "4096", "-o", str(trace), "--signal=none"),
        *("-e", f"trace={','.join(_READS)},{_CHANGES},execve", "--"),
        *(("sh", "-c", shell, "sh") if shell else ()),
        *(sys.executable, str(Path(sys.executable).with_name(words[0])), *words[1:]),
    ]
    done = subprocess.run(
        line,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=120,
    )
    found = Traced(done.returncode, done.stdout.decode(), done.stderr.decode())
    # Each process and thread has a file of its own, in which no call is torn apart.
    for file in trace.parent.glob(f"{trace.name}.*"):
        for call in file.read_text("utf-8", "backslashreplace").splitlines():
            _take(call, folder, found)
    return found


def _take(line: str, folder: Path, found: Traced) -> None:
    match = _LINE.match(line)
    if match is None or match[3].startswith("-"):
        return  # the end of a process, or a call that failed
    call, arguments = match[1], match[2]
    strings = [_text(one) for one in _STRING.findall(arguments)]
    if call == "execve":
        found.executed.append(" ".join(strings))
        return
    bases = [Path(_text(one)) for one in _DESCRIPTOR.findall(arguments)] or [folder]
    paths = [bases[min(at, len(bases) - 1)] / text for at, text in enumerate(strings)]
    if call in _READS and not _WRITING.search(arguments):
        found.read.update(paths)
    else:
        found.written.update(paths)


def _text(escaped: str) -> str:
    """A string without strace's escapes."""
    return os.fsdecode(escaped.encode("latin1", "backslashreplace").decode("unicode_escape").encode("latin1"))
