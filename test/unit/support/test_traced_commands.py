"""Calls of the system as strace prints them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.traced_commands import Traced, _take

PLACE = Path("/place")


@pytest.mark.parametrize(
    ("line", "read", "written", "executed"),
    [
        ('openat(AT_FDCWD</place>, "a", O_RDONLY|O_CLOEXEC) = 3</place/a>', "/place/a", "", ""),
        ('openat(5</other>, "a", O_RDONLY) = 3</other/a>', "/other/a", "", ""),
        ('openat(AT_FDCWD</place>, "/etc/x", O_RDONLY) = -1 ENOENT (No such file or directory)', "", "", ""),
        ('openat(AT_FDCWD</place>, "a", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3</place/a>', "", "/place/a", ""),
        ('creat("a", 0666) = 3</place/a>', "", "/place/a", ""),
        ('rename("a", "/b") = 0', "", "/place/a /b", ""),
        ('renameat(4</x>, "a", 5</y>, "b") = 0', "", "/x/a /y/b", ""),
        ('unlinkat(4</x>, "a", 0) = 0', "", "/x/a", ""),
        ('symlink("target", "/link") = 0', "", "/place/target /link", ""),
        ('openat(AT_FDCWD</place>, "\\33]0;t\\7", O_RDONLY) = 3</place/x>', "/place/\x1b]0;t\x07", "", ""),
        ('execve("/bin/sh", ["sh", "-c", "x"], 0x7ffd /* 9 vars */) = 0', "", "", "/bin/sh sh -c x"),
        (
            'execve("/bin/no", ["no"], 0x7ffd /* 9 vars */) = -1 ENOENT (No such file or directory)',
            "",
            "",
            "",
        ),
        ("+++ exited with 0 +++", "", "", ""),
    ],
)
def test_calls(line: str, read: str, written: str, executed: str) -> None:
    found = Traced(0, "", "")
    _take(line, PLACE, found)
    assert found.read == set(map(Path, read.split()))
    assert found.written == set(map(Path, written.split()))
    assert found.executed == ([executed] if executed else [])
