import pytest
from support.cost import lines_of

from et_ir.backends import DataEntry, NamedDataConflict, NamedDataStore


def test_equal_bytes_are_one_buffer():
    store = NamedDataStore()
    store.add_named_data("a", b"1234", 16)
    store.add_named_data("b", b"1234")
    store.add_named_data("c", b"5678")
    output = store.get_named_data_store_output()
    assert [bytes(blob.view()) for blob in output.buffers] == [b"1234", b"5678"]
    assert output.pte_data == {"a": DataEntry(0, 16), "b": DataEntry(0, 1), "c": DataEntry(1, 1)}


def test_other_bytes_of_one_size_are_told_apart_by_their_first():
    def add(count: int) -> None:
        store = NamedDataStore()
        for number in range(count):
            store.add_named_data(str(number), number.to_bytes(8, "little"))
        assert len(store.get_named_data_store_output().buffers) == count

    assert lines_of(lambda: add(400)) < 5 * lines_of(lambda: add(100))


def test_the_same_again_keeps_the_larger_alignment():
    store = NamedDataStore()
    store.add_named_data("a", b"1", 4)
    store.add_named_data("a", b"1", 64)
    store.add_named_data("a", b"1", 8)
    assert store.get_named_data_store_output().pte_data["a"].alignment == 64


def test_other_bytes_of_one_name():
    store = NamedDataStore()
    store.add_named_data("a", b"1")
    other = NamedDataStore()
    other.add_named_data("a", b"2")
    with pytest.raises(NamedDataConflict, match="two different blobs are named 'a'"):
        store.merge_named_data_store(other.get_named_data_store_output())


def test_alignment_is_a_power_of_two():
    with pytest.raises(ValueError, match="12 bytes is not a power of two"):
        NamedDataStore().add_named_data("a", b"1", 12)


def test_data_files():
    store = NamedDataStore()
    store.add_named_data("a", b"1234", 16, "weights.ptd")
    store.add_named_data("b", b"1234")
    store.add_named_data("a", b"1234", 32, "others.ptd")
    merged = NamedDataStore()
    merged.merge_named_data_store(store.get_named_data_store_output())
    output = merged.get_named_data_store_output()
    assert output.pte_data == {"b": DataEntry(0, 1)}
    assert output.external_data == {"weights.ptd": {"a": DataEntry(0, 32)}}
    with pytest.raises(ValueError, match=r"'\.\./x' is not a file name without folders"):
        store.add_named_data("c", b"1", external_tag="../x")
