from __future__ import annotations

import errno
import multiprocessing
import os
import re
import resource
from pathlib import Path

import pytest

from et_schema.files import atomic_files, atomic_writer, check_writable, is_bare_name


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


def test_files_that_belong_together_appear_at_the_end(tmp_path: Path) -> None:
    one, other = tmp_path / "model.pte", tmp_path / "model.ptd"
    with atomic_files() as files:
        files.open(one).write(b"1")
        files.open(other).write(b"2")
        assert not one.exists()
        assert not other.exists()
    assert (one.read_bytes(), other.read_bytes()) == (b"1", b"2")
    assert sorted(tmp_path.iterdir()) == [other, one]


def test_the_first_file_appears_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    appeared: list[str] = []
    replace = Path.replace

    def recorded(self: Path, target: Path) -> Path:
        appeared.append(target.name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", recorded)
    with atomic_files() as files:
        files.open(tmp_path / "refers")
        files.open(tmp_path / "is referred to")
    assert appeared == ["is referred to", "refers"]


def _write_beyond_a_limit(folder: Path) -> None:
    """Replace two files, the content of the first of which is too large for the limit when it is written out."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    try:
        with atomic_files() as files:
            files.open(folder / "text").write(bytes(2000))
            files.open(folder / "store").write(b"new")
    except OSError as error:
        os._exit(0 if error.filename == str(folder / "text") else 2)
    os._exit(1)


def test_no_file_appears_if_one_cannot_be_written_out(tmp_path: Path) -> None:
    for name in ("text", "store"):
        (tmp_path / name).write_bytes(b"old")
    process = multiprocessing.get_context("fork").Process(target=_write_beyond_a_limit, args=(tmp_path,))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"text": b"old", "store": b"old"}


def test_files_that_are_not_replaced(tmp_path: Path) -> None:
    text, store = tmp_path / "text", tmp_path / "store"
    store.write_bytes(b"another's")

    def write() -> None:
        with atomic_files() as files:
            files.open(text).write(b"new")
            files.open(store, lambda path: path.read_bytes() == b"ours").write(b"ours")

    with pytest.raises(FileExistsError, match=re.escape(str(store))):
        write()
    assert store.read_bytes() == b"another's"
    assert list(tmp_path.iterdir()) == [store]
    store.write_bytes(b"ours")
    write()
    assert text.read_bytes() == b"new"


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("weights.ptd", True),
        ("a b.ptd", True),
        ("", False),
        ("..", False),
        ("../weights.ptd", False),
        ("/tmp/weights.ptd", False),
        ("a\\b", False),
        ("c:b", False),
        ("a\x1b[2J", False),
        ("a\0", False),
        ("a\ud800", False),
        ("é" * 127, True),
        ("é" * 128, False),
    ],
)
def test_bare_names(name: str, bare: bool) -> None:
    assert is_bare_name(name) == bare
