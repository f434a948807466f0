"""The store of compiled results: damaged, foreign and evicted entries, and folders that cannot be written."""

from __future__ import annotations

import errno
import logging
import mmap
import multiprocessing
import os
from pathlib import Path

import pytest

from et_ir.cache import store as store_module
from et_ir.cache.store import Key, Store

KEY = Key("code", {"loops": "a", "target": "b"})
FACTS = {"lines": [1, 2]}
CONTENTS = (b"first", b"", b"second")


def _kept(folder: Path) -> Path:
    """The file of an entry of `KEY` in a new store."""
    Store(folder).keep(KEY, FACTS, CONTENTS)
    return _entry(folder, KEY)


def _entry(folder: Path, key: Key) -> Path:
    (path,) = folder.glob(f"*/*/{key.digest}")
    return path


def _is_found(folder: Path, key: Key = KEY) -> bool:
    return Store(folder).find(key, "it") is not None


def _outcome(store: Store, key: Key = KEY) -> str:
    store.find(key, "it", explain=True)
    return store.lookups[-1].outcome


def test_contents_and_facts(tmp_path: Path):
    _kept(tmp_path)
    entry = Store(tmp_path).find(KEY, "it")
    assert entry is not None
    assert entry.facts == FACTS
    assert tuple(map(bytes, entry.contents)) == CONTENTS


def test_miss_names_what_is_new(tmp_path: Path):
    _kept(tmp_path)
    store = Store(tmp_path)
    assert _outcome(store, Key("code", {"loops": "a", "target": "c"})) == "new: target"
    assert _outcome(store, Key("file", {"loops": "a", "target": "b"})) == "new"
    assert _outcome(store) == "hit"
    counts = store.statistics()
    assert (counts.entries, counts.hits, counts.misses) == ({"code": 1}, {"code": 1}, {"code": 1, "file": 1})


def test_every_flipped_byte_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    content = _kept(tmp_path).read_bytes()
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        _kept(tmp_path).write_bytes(damaged)
        caplog.clear()
        store = Store(tmp_path)
        assert _outcome(store) == "damaged", position
        assert "cannot be used, and is made again" in caplog.text
    assert not _is_found(tmp_path)


def test_every_truncation_is_reported(tmp_path: Path):
    content = _kept(tmp_path).read_bytes()
    for length in range(len(content)):
        _kept(tmp_path).write_bytes(content[:length])
        assert _outcome(Store(tmp_path)) == "damaged", length


def test_entry_of_another_key(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    other = Key("code", {"loops": "other", "target": "b"})
    path = _kept(tmp_path)
    Store(tmp_path).keep(other, FACTS, CONTENTS)
    path.write_bytes(_entry(tmp_path, other).read_bytes())
    assert _outcome(Store(tmp_path)) == "damaged"
    assert "it is an entry of another key" in caplog.text


def test_entry_of_another_version(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = _kept(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"et-ir entry 1 ", b"et-ir entry 2 "))
    assert _outcome(Store(tmp_path)) == "damaged"
    assert "it is no entry of this version" in caplog.text


def test_file_in_place_of_the_folder(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        Store(tmp_path / "file")


def test_full_disk_costs_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(store_module, "_write", full)
    store = Store(tmp_path)
    store.keep(KEY, FACTS, CONTENTS)
    store.keep(KEY, FACTS, CONTENTS)
    assert caplog.text.count("cannot be written, results of the kind code are not kept") == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_folder_that_cannot_be_made(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "et-ir-1").write_text("a file")
    store = Store(tmp_path / "store")
    store.keep(KEY, FACTS, CONTENTS)
    assert "cannot be written, results of the kind code are not kept" in caplog.text
    assert store.find(KEY, "it") is None


def test_write_error_ends_its_kind_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store, file = Store(tmp_path), Key("file", KEY.parts)
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "_write", full)
        store.keep(KEY, FACTS, CONTENTS)
    store.keep(KEY, FACTS, CONTENTS)
    store.keep(file, FACTS, CONTENTS)
    assert (_is_found(tmp_path), _is_found(tmp_path, file)) == (False, True)
    assert len(caplog.records) == 1


def test_unreadable_entry_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    _kept(tmp_path)

    def fails(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(mmap, "mmap", fails)
        assert _outcome(Store(tmp_path)) == "unreadable"
    assert "cannot be read" in caplog.text
    assert _is_found(tmp_path)


def test_folder_of_another_version_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "et-ir-0").mkdir()
    _kept(tmp_path)
    assert caplog.text.count("et-ir-0 is of another version, and is not used") == 1
    caplog.clear()
    assert _is_found(tmp_path)
    assert not caplog.records


def test_temporary_file_is_no_entry(tmp_path: Path):
    path = _kept(tmp_path)
    left = path.with_name(f"{path.name}.1234.tmp")
    left.write_bytes(bytes(100))
    assert Store(tmp_path).statistics().entries == {"code": 1}
    os.utime(left, (0, 0))
    _kept(tmp_path)
    assert not left.exists()


def test_least_recently_used_is_removed(tmp_path: Path):
    keys = [Key("code", {"loops": str(number)}) for number in range(3)]
    content = [bytes(1000)]
    for number, key in enumerate(keys[:2]):
        Store(tmp_path).keep(key, {}, content)
        os.utime(_entry(tmp_path, key), (number, number))
    assert _is_found(tmp_path, keys[0])  # the older one is used, so that the other is to go
    Store(tmp_path, limit=2800).keep(keys[2], {}, content)
    assert [_is_found(tmp_path, key) for key in keys] == [True, False, True]


def test_result_larger_than_the_store(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    Store(tmp_path, limit=10).keep(KEY, {}, [bytes(11)])
    assert "larger than the cache" in caplog.text
    assert not _is_found(tmp_path)


def test_entry_removed_by_another_process_while_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    store = Store(tmp_path)
    listed = Store._all

    def removed(self: Store):
        _entry(tmp_path, KEY).unlink()
        return listed(self)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "_all", removed)
        store.keep(KEY, FACTS, CONTENTS)
    assert not caplog.records
    store.keep(KEY, FACTS, CONTENTS)
    assert _is_found(tmp_path)


def _race(folder: Path, number: int) -> None:
    store = Store(folder, limit=6000)
    logging.getLogger("et_ir.cache.store").addHandler(_Failing())
    for step in range(60):
        key = Key("code", {"loops": str((step * (number + 1)) % 7)})
        entry = store.find(key, "it")
        expected = key.digest.encode() * 20
        assert entry is None or bytes(entry.contents[0]) == expected
        store.keep(key, {}, [expected])


class _Failing(logging.Handler):
    """What a process must not report."""

    def emit(self, record: logging.LogRecord) -> None:
        raise AssertionError(record.getMessage())


def test_processes_that_race(tmp_path: Path):
    context = multiprocessing.get_context("fork")
    ones = [context.Process(target=_race, args=(tmp_path, number)) for number in range(3)]
    for one in ones:
        one.start()
    for one in ones:
        one.join(60)
    assert [one.exitcode for one in ones] == [0, 0, 0]
