"""Blobs of ExecuTorch's Vulkan backend: what is written is read, and what makes no sense is refused with its place."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from support.vulkan_graphs import Build, D, linear

from et_backends.vulkan_graph.format import tables as v
from et_backends.vulkan_graph.format.blob import read_vkgraph, serialize_vkgraph, staged_type
from et_schema.errors import Error, InvalidFile
from et_schema.scalar_type import ScalarType
from et_schema.writer import encode


def test_what_is_written_is_read() -> None:
    build = linear()
    for literal in (None, 7, -0.5, True, "none", [1, 2], [0.5], [True], []):
        build.literal(literal)
    build.values(0, 1)
    build.symint()
    blob = read_vkgraph(build.blob())
    assert blob.graph == build.graph
    assert serialize_vkgraph(blob.graph, bytes(blob.data)) == build.blob()
    assert bytes(blob.constant(1, {})) == b"\0\0\x80?" * 4
    assert not len(build.blob()) % 16


def test_the_bytes_of_a_generation() -> None:
    """A blob that was written once is read, and written again as the same bytes."""
    frozen = Path(__file__).with_name("vk00.bin").read_bytes()
    assert read_vkgraph(frozen).graph == linear().graph
    assert linear().blob() == frozen


def test_storage_and_layout() -> None:
    build = Build()
    build.tensor(storage_type=v.VkStorageType.TEXTURE_2D, memory_layout=v.VkMemoryLayout.PACKED_INT8_CONV2D)
    build.graph.storage_type_override = v.VkStorageType.BUFFER
    found = read_vkgraph(build.blob()).graph
    assert found == build.graph
    assert found.memory_layout_override is v.VkMemoryLayout.DEFAULT_LAYOUT


def test_a_blob_without_a_header() -> None:
    build = Build()
    build.call("aten.relu.default", build.input(2), build.output(2))
    found = read_vkgraph(bytes(encode(build.graph, v.FILE_IDENTIFIER)))
    assert found.graph == build.graph
    assert not len(found.data)


def test_a_blob_of_another_schema() -> None:
    with pytest.raises(InvalidFile, match="file identifier b'VK01', expected b'VK00'"):
        read_vkgraph(linear().blob().replace(v.FILE_IDENTIFIER, b"VK01"))


def test_types_of_arguments() -> None:
    assert staged_type(v.VkTensor(D.FLOAT16, staging_datatype=D.FLOAT32)) is ScalarType.FLOAT
    assert staged_type(v.VkTensor(D.FLOAT16)) is ScalarType.HALF


def test_named_data() -> None:
    build = Build()
    build.graph.constants.append(v.VkBytes(v.NO_OFFSET, 4, "weight"))
    build.tensor(1, constant_id=0)
    blob = read_vkgraph(build.blob())
    assert bytes(blob.constant(0, {"weight": memoryview(b"12345678")})) == b"1234"
    for named in ({}, {"weight": memoryview(b"123")}):
        with pytest.raises(InvalidFile, match=r"no data named 'weight' of 4 bytes at constants\[0\]"):
            blob.constant(0, named)


def changed(change: Callable[[v.VkGraph], object]) -> bytes:
    build = linear()
    change(build.graph)
    return build.blob()


def tensor(graph: v.VkGraph, number: int) -> v.VkTensor:
    found = graph.values[number].value
    assert isinstance(found, v.VkTensor)
    return found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: setattr(g, "version", "1"), "a graph of version '1'; version '0' is supported at version"),
        (lambda g: g.values.append(v.VkValue()), r"value without a type at values\[7\].value"),
        (lambda g: setattr(tensor(g, 0), "datatype", D.UNSET), r"UNSET at values\[0\].value.datatype"),
        (lambda g: setattr(tensor(g, 0), "dims", [1] * 17), r"17 dimensions.* at values\[0\].value.dims"),
        (
            lambda g: setattr(tensor(g, 0), "dims", [2**31] * 3),
            r"a tensor of sizes .* at values\[0\].value.dims",
        ),
        (
            lambda g: setattr(tensor(g, 1), "constant_id", 2),
            r"constant 2 of 2 at values\[1\].value.constant_id",
        ),
        (
            lambda g: setattr(tensor(g, 1), "dims", [7, 7]),
            r"48 bytes for 196 at values\[1\].value.constant_id",
        ),
        (
            lambda g: g.constants.append(v.VkBytes(64, 1)),
            r"bytes 64..65 of 64 bytes of constants at constants\[2\]",
        ),
        (
            lambda g: g.constants.append(v.VkBytes(v.NO_OFFSET, 1)),
            r"without a name at constants\[2\].named_key",
        ),
        (
            lambda g: g.constants.append(v.VkBytes(0, 1, "w")),
            r"named 'w', and at offset 0 too at constants\[2\]",
        ),
        (lambda g: g.shaders.append(v.VkBytes(0, 1)), r"shaders .* are not supported at shaders\[0\]"),
        (
            lambda g: g.values.append(v.VkValue(v.ValueList([9]))),
            r"value 9 of 8 at values\[7\].value.items\[0\]",
        ),
        (
            lambda g: g.values.append(v.VkValue(v.ValueList([7]))),
            r"a list of lists at values\[7\].value.items\[0\]",
        ),
        (lambda g: g.input_ids.append(7), r"value 7 of 7 at input_ids\[1\]"),
        (lambda g: g.input_ids.append(0), r"value 0 is an input twice at input_ids\[1\]"),
        (lambda g: g.input_ids.append(1), r"an input is a constant at input_ids\[1\]"),
        (lambda g: g.output_ids.append(7), r"value 7 of 7 at output_ids\[1\]"),
        (lambda g: g.chain[2].args.clear(), r"a call without a result at chain\[2\].args"),
        (lambda g: g.chain[2].args.insert(0, -1), r"value -1 of 7 at chain\[2\].args\[0\]"),
        (
            lambda g: g.chain[2].args.insert(0, 6),
            r"value 6 is read before it is computed at chain\[2\].args\[0\]",
        ),
        (lambda g: g.chain[2].args.__setitem__(3, 7), r"value 7 of 7 at chain\[2\].args\[3\]"),
        (lambda g: g.chain.pop(), r"value 6 is read before it is computed at output_ids\[0\]"),
    ],
)
def test_graphs_that_make_no_sense(change: Callable[[v.VkGraph], object], message: str) -> None:
    with pytest.raises(InvalidFile, match=message) as caught:
        read_vkgraph(changed(change))
    assert caught.value.code is Error.DelegateInvalidCompatibility
    assert caught.value.offset is not None


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (lambda b: b.literal(1), "an input is not a tensor or a number"),
        (lambda b: b.values(), "an input is not a tensor or a number"),
    ],
)
def test_inputs_that_are_neither_tensors_nor_numbers(number: Callable[[Build], int], message: str) -> None:
    build = Build()
    build.graph.input_ids.append(number(build))
    with pytest.raises(InvalidFile, match=message):
        read_vkgraph(build.blob())


def test_results_that_are_neither_tensors_nor_numbers() -> None:
    build = Build()
    build.call("aten.relu.default", build.input(2), build.literal(1))
    with pytest.raises(
        InvalidFile, match=r"the result 1 is not a tensor or a number at chain\[0\].args\[1\]"
    ):
        read_vkgraph(build.blob())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda blob: blob[:20], "a blob of 20 bytes is too short for a header at header"),
        (lambda blob: blob[:4] + b"VH01" + blob[8:], "magic b'VH01', expected b'VH00' at header"),
        (lambda blob: blob[:8] + b"\x10" + blob[9:], "header claims 16 bytes"),
        (lambda blob: blob[:40], "a graph of .* in a blob of 40 .*cut short"),
        (lambda blob: blob[:-16], "constants at bytes .* run past .*cut short"),
        (lambda blob: blob[:36] + b"VK01" + blob[40:], "file identifier b'VK01', expected b'VK00'"),
    ],
)
def test_damaged_headers(damage: Callable[[bytes], bytes], message: str) -> None:
    with pytest.raises(InvalidFile, match=message) as caught:
        read_vkgraph(damage(linear().blob()))
    assert caught.value.code is Error.DelegateInvalidCompatibility


@pytest.mark.parametrize("seed", range(4))
def test_damaged_bytes(seed: int) -> None:
    """Each damaged blob is read, or refused by a typed error."""
    good, random = linear().blob(), Random(seed)
    for _ in range(200):
        damaged = bytearray(good)
        for _ in range(random.choice((1, 1, 2, 5))):
            damaged[random.randrange(len(damaged))] = random.choice(
                (0, 1, 0x7F, 0x80, 0xFF, random.randrange(256))
            )
        with suppress(InvalidFile):
            read_vkgraph(damaged)


def test_lists_that_many_calls_name() -> None:
    """A short file could make a reader go through a long list any number of times."""
    build = Build()
    x, dim, result = build.input(4), build.literal(0), build.output(4)
    items = build.values(*[x] * 2000)
    for _ in range(100):
        build.call("aten.cat.default", items, dim, result)
    with pytest.raises(InvalidFile, match=r"name \d+ items of lists, too many .* at chain\[\d+\].args"):
        read_vkgraph(build.blob())
