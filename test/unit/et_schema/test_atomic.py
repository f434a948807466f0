from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

from et_schema.files import atomic_writer, check_writable


def test_the_file_appears_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "model.pte"
    with atomic_writer(path) as stream:
        stream.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "model.pte"
    path.write_bytes(b"old")

    def fail() -> None:
        with atomic_writer(path) as stream:
            stream.write(b"new")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions(tmp_path: Path) -> None:
    old, new, plain = tmp_path / "old", tmp_path / "new", tmp_path / "plain"
    old.write_bytes(b"")
    old.chmod(0o640)
    plain.write_bytes(b"")
    for path in (old, new):
        with atomic_writer(path) as stream:
            stream.write(b"x")
    assert old.stat().st_mode & 0o777 == 0o640
    assert new.stat().st_mode == plain.stat().st_mode


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "model.pte", tmp_path / "link.pte"
    link.symlink_to(target)
    with atomic_writer(link) as stream:
        stream.write(b"x")
    assert link.is_symlink()
    assert target.read_bytes() == b"x"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_reported_with_the_path(tmp_path: Path, code: int) -> None:
    path = tmp_path / "model.pte"
    with pytest.raises(OSError, match=re.escape(repr(str(path)))) as caught, atomic_writer(path):
        raise OSError(code, os.strerror(code))
    assert caught.value.errno == code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
def test_a_full_device_is_reported_with_the_path() -> None:
    with pytest.raises(OSError, match="'/dev/full'"), atomic_writer("/dev/full") as stream:
        stream.write(b"x")


def test_a_device_is_written_in_place() -> None:
    with atomic_writer(os.devnull) as stream:
        stream.write(b"x")
    assert not Path(os.devnull).is_file()


def test_a_missing_directory_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_writer(tmp_path / "no" / "model.pte"):
        pass


def test_small_pieces_are_written_together(tmp_path):
    with atomic_writer(tmp_path / "file") as stream:
        for _ in range(256):
            stream.write(bytes(4096))
        assert os.path.getsize(stream.name) == 0
    assert os.path.getsize(tmp_path / "file") == 1 << 20


@pytest.mark.parametrize("name", ["n" * 255, "\N{GRINNING FACE}" * 63])
def test_the_longest_names(tmp_path: Path, name: str) -> None:
    with atomic_writer(tmp_path / name) as stream:
        stream.write(b"x")
    assert (tmp_path / name).read_bytes() == b"x"


def test_checks_leave_nothing(tmp_path: Path) -> None:
    path = tmp_path / "model.pte"
    check_writable(path)
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"old")
    check_writable(path)
    assert path.read_bytes() == b"old"
    check_writable(os.devnull)


def test_checks_of_what_cannot_be_written(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "model.pte", tmp_path / ("n" * 256)):
        with pytest.raises(OSError, match=re.escape(repr(str(path)))):
            check_writable(path)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="only Linux has a folder of processes")
def test_a_folder_in_which_nobody_makes_files() -> None:
    with pytest.raises(OSError, match="'/proc/file'"):
        check_writable("/proc/file")
