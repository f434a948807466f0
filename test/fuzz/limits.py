"""Limits of a case: its processor time, its memory, and the files, processes and connections that it may ask for.

They are of the process that runs the case. Python's audit events tell of files, processes and connections: what is not
allowed is refused, and a violation whatever becomes of the refusal.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from et_vm.devtools.resident_memory import peak_resident_bytes
from fuzz.targets import Violation

__all__ = ["BYTES", "SECONDS", "limited"]

Result = TypeVar("Result")

SECONDS = 5.0
"""Processor time of a case."""
BYTES: Final = 64 << 20
"""Memory that a case may take in addition to what its process has."""
FILE_BYTES: Final = 64 << 20
"""The size of a file that a case may write."""

_ROOT: Final = Path(__file__).parents[2]
_READABLE: Final = tuple(
    f"{Path(folder).resolve()}/"
    for folder in (_ROOT, sys.prefix, sys.base_prefix, "/usr", "/lib", "/lib64", "/proc", "/sys", "/dev")
)
"""Folders with code and what the system says of itself."""
_SYSTEM: Final = frozenset({"/etc/localtime", "/etc/ld.so.cache", "/etc/os-release", "/etc/mime.types"})


def _caches() -> tuple[str, ...]:
    """The folder of caches, which reading good inputs has filled."""
    folder = os.environ.get("XDG_CACHE_HOME")
    return () if folder is None else (f"{os.path.realpath(folder)}/",)


_CHANGES: Final = frozenset(
    {
        *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate"),
        *("os.chmod", "os.chown", "os.utime", "os.setxattr"),
    }
)
"""Events that change files; the first one or two arguments are paths."""
_STARTS: Final = frozenset(
    {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork"}
)
_CONNECTS: Final = frozenset({"socket.connect", "socket.getaddrinfo", "socket.bind", "socket.sendto"})


class _TimeUp(BaseException):
    pass


class _Watch:
    """Access of the case that runs."""

    def __init__(self) -> None:
        self.folder: str | None = None
        """The folder of the case; `None` between cases."""
        self.starts: Sequence[str] = ()
        self.strays: list[str] = []
        self.is_installed = False

    def install(self) -> None:
        """Begin to watch, for as long as the process lives."""
        if not self.is_installed:
            sys.addaudithook(self.heed)
            self.is_installed = True

    def heed(self, event: str, args: tuple[Any, ...]) -> None:
        """Refuse what a case may not do."""
        if self.folder is None:
            return
        if event == "open":
            path, mode, flags = args
            writes = isinstance(flags, int) and bool(
                flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
            )
            if not isinstance(path, int):
                self._check("wrote" if writes or set(mode or "") & set("wax+") else "read", path)
        elif event in _CHANGES:
            for path in args[: 2 if event in ("os.rename", "os.link") else 1]:
                # Those of open folders are of folders that were opened by name.
                if not isinstance(path, int) and not (args[-1] != -1 and not os.path.isabs(path)):
                    self._check(event, path)
        elif event in _STARTS:
            words = args[1] if event == "subprocess.Popen" else args
            if not any(os.path.basename(str(word)) in self.starts for word in words):
                self._refuse(f"started {words}")
        elif event in _CONNECTS:
            self._refuse(f"{event}{args[1:]}")
        elif event in ("ctypes.dlopen", "import") and args[1 if event == "import" else 0]:
            name = os.fsdecode(args[1 if event == "import" else 0])
            if os.path.isabs(name) and name.startswith(self.folder):
                self._refuse(f"loaded code from {name}")

    def _check(self, what: str, path: Any) -> None:
        assert self.folder is not None
        name = os.path.realpath(os.fsdecode(path))
        if f"{name}/".startswith(self.folder) or name == "/dev/null":
            return
        if what == "read" and (name.startswith((*_READABLE, *_caches())) or name in _SYSTEM):
            return
        self._refuse(f"{what} {name}")

    def _refuse(self, what: str) -> None:
        self.strays.append(what)
        raise PermissionError(f"a case may not do this: {what}")


_WATCH: Final = _Watch()


def limited(folder: Path, action: Callable[[], Result], *, starts: Sequence[str] = ()) -> Result:
    """Run `action` in `folder`, which is all that it may read and write, and let it start the scripts `starts`.

    Raises what it raises, and Violation if it takes more processor time or memory than that, or asks for other files or
    for processes. A loop in C does not heed the end of its time: that is for who started the process.
    """
    _WATCH.install()
    outside, temporary = Path.cwd(), tempfile.tempdir
    before = signal.signal(signal.SIGPROF, _stop)
    bounds = resource.getrlimit(resource.RLIMIT_FSIZE)
    _forget_peak()
    start = peak_resident_bytes() or 0
    os.chdir(folder)
    tempfile.tempdir = str(folder)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, bounds[1]))
    _WATCH.folder, _WATCH.starts, _WATCH.strays = f"{folder.resolve()}/", starts, []
    found: BaseException | None = None
    result: list[Result] = []
    try:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        result.append(action())
        # In here, as the signal may come until then.
        signal.setitimer(signal.ITIMER_PROF, 0)
    except BaseException as error:
        found = error
        signal.setitimer(signal.ITIMER_PROF, 0)
    finally:
        _WATCH.folder = None
        resource.setrlimit(resource.RLIMIT_FSIZE, bounds)
        tempfile.tempdir = temporary
        os.chdir(outside)
        signal.signal(signal.SIGPROF, before)
    # Whatever else came of it.
    if _WATCH.strays:
        raise Violation(f"stray access: {'; '.join(_WATCH.strays[:5])}") from found
    if isinstance(found, _TimeUp):
        raise Violation(f"still running after {SECONDS} s") from None
    taken = (peak_resident_bytes() or 0) - start
    if taken > BYTES:
        raise Violation(f"took {taken:,} bytes") from found
    if found is not None:
        raise found
    return result[0]


def _stop(number: int, frame: object) -> None:
    del number, frame
    raise _TimeUp


def _forget_peak() -> None:
    """Have the system count the peak of resident memory anew; where it cannot, it counts the highest of all cases."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
