"""Damaged blobs and objects: each is loaded, or a typed error says why not. None of them is run."""

from __future__ import annotations

import re
from random import Random
from struct import pack, pack_into

import numpy as np
import pytest
from support.cost import lines_of, memory_of
from support.native_blobs import ARM, HEADER, SIZED, X86, Object, blob, code, here, program, tensor

from et_backends.codegen.format import ENTRY
from et_backends.native.format import (
    VERSION,
    NativeConstant,
    NativeProgram,
    NativeTensor,
    read_native,
    serialize_native,
)
from et_backends.native.runtime import backend as native
from et_backends.native.runtime.backend import NativeBackend
from et_schema.errors import Error, ExecutorchError, InvalidFile, OutOfMemory
from et_vm.backend import BackendExecuteContext, BackendInitContext, NativeOptions
from et_vm.backends.elf import link_object, load_object
from et_vm.platform import Platform

MACHINES = pytest.mark.parametrize("number", [X86, ARM])
ALLOWED = NativeOptions(allowed=True)


def init(
    data: bytes | NativeProgram, *, limit: int | None = 1 << 20, options: NativeOptions = ALLOWED
) -> object:
    raw = serialize_native(data) if isinstance(data, NativeProgram) else data
    context = BackendInitContext(Platform(memory_limit=limit), None, "forward", {}, native=options)
    return NativeBackend().init(context, memoryview(raw), [])


def refused(changed: Object, number: int, match: str) -> None:
    with pytest.raises(InvalidFile, match=match) as caught:
        link_object(memoryview(bytes(changed.raw)), number)
    assert caught.value.code == Error.DelegateInvalidCompatibility


@MACHINES
def test_the_objects_are_good(number: int) -> None:
    image = link_object(memoryview(code(number)), number)
    assert 0 <= image.place(ENTRY) < len(image.content)


def test_good_code_runs() -> None:
    x, w = np.linspace(-1, 1, 40, dtype=np.float32).reshape(5, 8), np.ones((8, 20), np.float32)
    out, other = np.zeros((5, 20), np.float32), np.zeros((5, 8), np.float32)
    handle = init(blob())
    context = BackendExecuteContext(Platform(), None, "forward", 0)
    arguments = [tensor(x), tensor(w), tensor(out), tensor(other)]
    NativeBackend().execute(context, handle, arguments)
    np.testing.assert_allclose(arguments[2].array, np.tanh(x @ w), atol=1e-6)
    np.testing.assert_array_equal(arguments[3].array, np.maximum(x, 0))


class TestObjects:
    """What `link_object` refuses."""

    @MACHINES
    def test_of_another_machine(self, number: int) -> None:
        refused(Object(number), X86 + ARM - number, f"is for machine {number}, this is")

    def test_of_a_machine_without_a_linker(self) -> None:
        refused(Object(X86).put(18, b"\x03\x00"), 3, "machine 3")

    @MACHINES
    def test_foreign_relocations(self, number: int) -> None:
        changed = Object(number)
        pack_into("<I", changed.raw, changed.section(changed.of_kind(4))["offset"] + 8, 1)
        refused(changed, number, "relocation 1 of")

    @MACHINES
    def test_undefined_symbols(self, number: int) -> None:
        changed = Object(number)
        table = changed.section(changed.of_kind(2))
        for at in range(0, table["size"], 24):
            pack_into("<H", changed.raw, table["offset"] + at + 6, 0)
        refused(changed, number, "which it does not define")

    @MACHINES
    @pytest.mark.parametrize("step", [0, 1], ids=["equal", "overlapping"])
    def test_long_names_of_many_symbols(self, number: int, step: int) -> None:
        changed = Object(number)
        table = changed.of_kind(2)
        strings = changed.section(table)["link"]
        names = b"\0" + b"x" * 4000 + b"\0"
        entries = b"".join(pack("<IBBHQQ", 1 + step * at, 0, 0, 0, 0, 0) for at in range(2000))
        for section, content in ((strings, names), (table, entries)):
            changed.change(section, offset=len(changed.raw), size=len(content))
            changed.raw += content

        def link() -> None:
            refused(
                changed, number, "which it does not define" if step == 0 else "names of symbols that overlap"
            )

        assert memory_of(link) < 8 * len(changed.raw)

    @MACHINES
    def test_relocations_of_symbols_that_there_are_not(self, number: int) -> None:
        changed = Object(number)
        pack_into("<I", changed.raw, changed.section(changed.of_kind(4))["offset"] + 12, 0xFFFFFFFF)
        refused(changed, number, "damaged")

    @MACHINES
    @pytest.mark.parametrize("addend", [-(2**62), -(2**20), 2**20, 2**62])
    def test_relocations_to_what_is_outside(self, number: int, addend: int) -> None:
        changed = Object(number)
        pack_into("<q", changed.raw, changed.section(changed.of_kind(4))["offset"] + 16, addend)
        refused(changed, number, "a relocation to byte")

    def test_relocations_to_the_ends(self) -> None:
        """The last that is allowed is the end, and the first what an instruction at the start is relative to."""
        changed = Object(X86)
        place = changed.section(changed.of_kind(4))["offset"] + 16
        pack_into("<q", changed.raw, place, 2**20)
        with pytest.raises(InvalidFile, match="a relocation to byte") as caught:
            link_object(memoryview(bytes(changed.raw)), X86)
        to, size = map(int, re.findall(r"\d+", str(caught.value).partition("to byte")[2])[:2])
        for byte, is_good in ((-17, False), (-16, True), (size, True), (size + 1, False)):
            pack_into("<q", changed.raw, place, byte - (to - 2**20))
            if is_good:
                assert link_object(memoryview(bytes(changed.raw)), X86).content
            else:
                refused(changed, X86, f"a relocation to byte {byte} of {size}")

    @MACHINES
    def test_relocations_of_what_is_outside(self, number: int) -> None:
        changed = Object(number)
        pack_into("<Q", changed.raw, changed.section(changed.of_kind(4))["offset"], 2**63)
        refused(changed, number, "a relocation at byte")

    @MACHINES
    def test_memory_to_write_to(self, number: int) -> None:
        changed = Object(number)
        text = changed.text()
        refused(
            changed.change(text, flags=changed.section(text)["flags"] | 1), number, "that its code writes to"
        )

    @MACHINES
    def test_memory_that_is_no_code(self, number: int) -> None:
        changed = Object(number)
        refused(changed.change(changed.text(), kind=8), number, "neither code nor")

    @MACHINES
    @pytest.mark.parametrize("alignment", [3, 8192, 2**63])
    def test_alignments(self, number: int, alignment: int) -> None:
        changed = Object(number)
        refused(changed.change(changed.text(), alignment=alignment), number, f"an alignment of {alignment}")

    @MACHINES
    @pytest.mark.parametrize("size", [2**20, 2**63, 2**64 - 1])
    @pytest.mark.parametrize("kind", [2, 4])
    def test_tables_that_end_after_the_file(self, number: int, size: int, kind: int) -> None:
        changed = Object(number)
        refused(changed.change(changed.of_kind(kind), size=size), number, "bytes .* of")

    @MACHINES
    @pytest.mark.parametrize("kind", [2, 4])
    def test_tables_that_start_after_the_file(self, number: int, kind: int) -> None:
        changed = Object(number)
        refused(changed.change(changed.of_kind(kind), offset=2**63), number, "bytes .* of")

    @MACHINES
    def test_symbols_outside_of_their_section(self, number: int) -> None:
        changed = Object(number)
        table = changed.section(changed.of_kind(2))
        pack_into("<Q", changed.raw, table["offset"] + table["size"] - 16, 2**40)
        refused(changed, number, "at byte 1099511627776 of")

    @MACHINES
    def test_no_symbol_table(self, number: int) -> None:
        changed = Object(number)
        refused(changed.change(changed.of_kind(2), kind=3), number, "0 symbol tables")

    @MACHINES
    def test_the_entry(self, number: int) -> None:
        raw = code(number).replace(ENTRY.encode(), b"x" * len(ENTRY))
        with pytest.raises(InvalidFile, match=f"the code does not define {ENTRY}"):
            link_object(memoryview(raw), number).place(ENTRY)

    @MACHINES
    def test_an_entry_that_is_no_code(self, number: int) -> None:
        changed = Object(number)
        text = changed.text()
        changed.change(text, flags=changed.section(text)["flags"] & ~4)
        with pytest.raises(InvalidFile, match=f"the code does not define {ENTRY}"):
            link_object(memoryview(bytes(changed.raw)), number).place(ENTRY)

    @MACHINES
    @pytest.mark.parametrize(("at", "value"), [(40, 2**63), (40, 2**64 - 1), (58, 1), (60, 0), (62, 0xFFFF)])
    def test_headers(self, number: int, at: int, value: int) -> None:
        changed = Object(number)
        pack_into("<Q" if at == 40 else "<H", changed.raw, at, value)
        with pytest.raises(InvalidFile):
            link_object(memoryview(bytes(changed.raw)), number)

    @MACHINES
    def test_tables_cut_short(self, number: int) -> None:
        good = code(number)
        for length in range(0, len(good) - 64, 13):
            with pytest.raises(InvalidFile):
                link_object(memoryview(good[:length]), number)

    def test_sections_that_share_their_bytes(self) -> None:
        """A small file asks neither for much memory nor for much time."""
        count, size = 4000, 1 << 20
        header = list(HEADER.unpack_from(code(X86)))
        header[6], header[12], header[13] = size, count, 0
        from support.native_blobs import SECTION

        section = SECTION.pack(0, 1, 6, 0, 0, size, 0, 0, 16, 0)
        raw = HEADER.pack(*header).ljust(size, b"\0") + SECTION.pack(*[0] * 10) + section * (count - 1)

        def link() -> None:
            with pytest.raises(InvalidFile, match="overlap"):
                link_object(memoryview(raw), X86)

        assert lines_of(link) < 20 * count
        assert memory_of(link) < 4 * size


class TestBlobs:
    """What the backend refuses of the tables."""

    def test_the_user_must_allow_it(self) -> None:
        with pytest.raises(ExecutorchError, match="holds machine code") as caught:
            init(blob(), options=NativeOptions())
        assert caught.value.code == Error.NotSupported
        assert "allow_native=True" in (caught.value.hint or "")

    def test_features_that_the_machine_lacks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An object that needs more is passed over, also if it comes first."""
        first, second = "x86-64-v4", "x86-64-v3"
        if here() != X86:
            first, second = "aarch64", "aarch64"
        both = NativeProgram(
            **{**vars_of(program(first)), "objects": [*program(first).objects, *program(second).objects]}
        )
        both.objects[0].cpu_features = "warp_drive"
        loaded: list[bytes] = []
        monkeypatch.setattr(
            native,
            "load_object",
            lambda data, number: (loaded.append(bytes(data)), load_object(data, number))[1],
        )
        init(both)
        assert loaded == [bytes(both.objects[1].code)]
        both.objects[1].cpu_features = "warp_drive"
        with pytest.raises(
            ExecutorchError,
            match=rf"no machine code .* is for {first} \(warp_drive\); {second} \(warp_drive\)",
        ) as caught:
            init(both)
        assert caught.value.code == Error.NotSupported

    @pytest.mark.parametrize(
        "change",
        [
            {"arena_size": 64},
            {"arena_size": 2**30},
            {"arena_size": 2**64 - 64},
            {"arena_alignment": 16},
            {"derived": [64]},
            {"derived": [2**64 - 64]},
            {"outputs": []},
        ],
        ids=str,
    )
    def test_memory_that_the_code_is_not_compiled_for(self, change: dict[str, object]) -> None:
        changed = program()
        for field, value in change.items():
            setattr(changed, field, value)
        with pytest.raises(
            InvalidFile, match="the code is for other sizes, constants, or another arena"
        ) as caught:
            init(changed)
        assert caught.value.code == Error.DelegateInvalidCompatibility

    def test_the_arena_counts_as_memory(self) -> None:
        made = read_native(blob(text=SIZED))
        init(made)
        with pytest.raises(OutOfMemory):
            init(made, limit=made.arena_size - 64)

    def test_code_counts_as_memory(self) -> None:
        with pytest.raises(OutOfMemory):
            init(blob(), limit=4095)

    @pytest.mark.parametrize(
        ("field", "value", "where"),
        [
            ("version", VERSION + 1, "version"),
            ("arena_alignment", 0, "arena_alignment"),
            ("arena_alignment", 48, "arena_alignment"),
            ("arena_alignment", 1 << 20, "arena_alignment"),
            ("objects", [], "objects"),
            ("inputs", [NativeTensor(sizes=[-1], dim_order=b"\0")], "inputs[0].sizes"),
            ("inputs", [NativeTensor(sizes=[1] * 17, dim_order=bytes(17))], "inputs[0].sizes"),
            ("outputs", [NativeTensor(sizes=[1, 2], dim_order=b"\0\0")], "outputs[0].dim_order"),
        ],
    )
    def test_tables(self, field: str, value: object, where: str) -> None:
        changed = program()
        setattr(changed, field, value)
        with pytest.raises(InvalidFile) as caught:
            init(changed)
        assert caught.value.code == Error.DelegateInvalidCompatibility
        assert caught.value.where == where

    def test_constants_that_the_program_lacks(self) -> None:
        changed = program()
        changed.constants = [NativeConstant("weights", 4)]
        with pytest.raises(InvalidFile, match="no data named 'weights' of 4 bytes"):
            init(changed)

    def test_arguments(self) -> None:
        """Others than the code is for are refused before it is called."""
        handle = init(blob())
        context = BackendExecuteContext(Platform(), None, "forward", 0)
        good = [tensor(np.ones(shape, np.float32)) for shape in ((5, 8), (8, 20), (5, 20), (5, 8))]
        for place, wrong in ((0, np.ones((5, 7), np.float32)), (1, np.ones((8, 20), np.int32))):
            arguments = [*good]
            arguments[place] = tensor(wrong)
            with pytest.raises(ExecutorchError, match=f"argument {place} is") as caught:
                NativeBackend().execute(context, handle, arguments)
            assert caught.value.code == Error.InvalidArgument
        with pytest.raises(ExecutorchError, match="3 arguments, the code takes 4"):
            NativeBackend().execute(context, handle, good[:3])


def vars_of(made: NativeProgram) -> dict[str, object]:
    return {name: getattr(made, name) for name in made.__dataclass_fields__}


@MACHINES
@pytest.mark.parametrize("seed", range(4))
def test_objects_of_random_bytes(number: int, seed: int) -> None:
    """Of 300 damaged objects each is laid out or refused; headers and tables are hit more often than code."""
    random, good = Random(seed), code(number)
    tables = [Object(number).section(one) for one in Object(number).numbers()]
    start = HEADER.unpack_from(good)[6]
    outcomes: set[str] = set()
    for _ in range(300):
        damaged = bytearray(good)
        for _ in range(random.choice((1, 1, 2, 8))):
            table = random.choice(tables)
            low, high = random.choice(
                [
                    (0, 64),
                    (start, len(good)),
                    (table["offset"], table["offset"] + table["size"]),
                    (0, len(good)),
                ]
            )
            place = min(random.randrange(low, max(high, low + 1)), len(good) - 1)
            damaged[place] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
        try:
            image = link_object(memoryview(bytes(damaged)), number)
            image.place(ENTRY)
            assert len(image.content) <= 2 * len(good)
            outcomes.add("linked")
        except InvalidFile as error:
            outcomes.add(error.code.name)
    assert outcomes == {"linked", Error.DelegateInvalidCompatibility.name}


@pytest.mark.parametrize("seed", range(4))
def test_blobs_of_random_bytes(seed: int) -> None:
    """Loading maps what can be linked, and does not run it."""
    good, random = blob(), Random(seed)
    outcomes: set[str] = set()
    for _ in range(100):
        damaged = bytearray(good)
        for _ in range(random.choice((1, 1, 2, 8))):
            damaged[random.randrange(random.choice((200, len(good))))] = random.randrange(256)
        try:
            init(bytes(damaged))
            outcomes.add("loaded")
        except ExecutorchError as error:
            outcomes.add(error.code.name)
    assert {"loaded", Error.DelegateInvalidCompatibility.name} <= outcomes
    assert outcomes <= {"loaded", "DelegateInvalidCompatibility", "MemoryAllocationFailed", "NotSupported"}


def test_blobs_cut_short() -> None:
    good = blob()
    for length in range(0, len(good), 97):
        with pytest.raises(InvalidFile):
            init(good[:length])
