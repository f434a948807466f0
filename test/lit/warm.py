"""Commands in forks of one process that has imported the compiler: lit tests in a quarter of the time.

`lit --param warm` puts clients of this server before the installed commands. Each asks for a fork, which takes over
the client's arguments, environment, folder, and standard streams, and runs the command's entry point. Without the
parameter, commands are started as a user starts them; with `--param cover`, all but the tools of others are.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, Final

TOOLS: Final = ("filecheck", "xdsl-opt")
"""Commands of other packages."""
COMMANDS: Final = (
    *("et-opt", "et-translate", "et-compile", "et-vm", "et-plan", "et-bisect", "et-reduce", "et-sweep"),
    *TOOLS,
)
PACKAGES: Final = ("et_backends", "et_ir", "et_schema", "et_vm", "et_tools")
SOCKET: Final = "socket"

CLIENT: Final = """\
#!{python} -ISB
import _socket, array, json, os, sys
connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
connection.connect({path!r})
call = [os.path.basename(sys.argv[0]), sys.argv[1:], os.getcwd(), dict(os.environ)]
data = json.dumps(call).encode()
streams = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
connection.sendmsg([len(data).to_bytes(4, "big")], streams)
connection.sendall(data)
code = connection.recv(1)
sys.exit(code[0] if code else "the process that ran the command died")
"""


def start(commands: Sequence[str] = COMMANDS) -> str:
    """Start a server of some commands that ends with this process; returns the folder of its clients, for `PATH`."""
    folder = tempfile.mkdtemp(prefix="lit-warm-")
    path = str(Path(folder, SOCKET))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    server = subprocess.Popen(
        [sys.executable, __file__, str(listener.fileno()), *commands],
        pass_fds=[listener.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    listener.close()
    owner = os.getpid()

    def stop() -> None:
        # lit's workers are forks of the process that started the server, and do not end it.
        if os.getpid() == owner:
            server.terminate()
            server.wait()
            shutil.rmtree(folder)

    atexit.register(stop)
    for name in commands:
        client = Path(folder, name)
        client.write_text(CLIENT.format(python=sys.executable, path=path))
        client.chmod(0o755)
    return folder


def serve(listener: socket.socket, commands: Collection[str]) -> None:
    """Run commands in forks, as they are asked for."""
    mains: dict[str, Callable[[], Any]] = {
        script.name: script.load()
        for script in entry_points(group="console_scripts")
        if script.name in commands
    }
    for name in () if set(commands) <= set(TOOLS) else PACKAGES:
        spec = find_spec(name)
        places = spec.submodule_search_locations if spec else None
        for module in walk_packages(places or [], f"{name}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    sys.path[0] = str(Path(sys.executable).parent)  # as it is for an installed command
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            run(connection, mains)
        connection.close()


def run(connection: socket.socket, mains: dict[str, Callable[[], Any]]) -> None:
    """Take over the client's place, run its command, and end this process."""
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    name, arguments, folder, environment = json.loads(
        connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
    )
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    # Those of the server remember what its own files could do, such as to seek.
    sys.stdin = sys.__stdin__ = os.fdopen(0, closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [str(Path(sys.executable).with_name(name)), *arguments]
    code: Any = 1
    try:
        code = mains[name]()
    except SystemExit as exit_:
        code = exit_.code
    except BaseException:
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = code or 120
    connection.send(bytes([int(code or 0) & 255]))
    os._exit(0)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
