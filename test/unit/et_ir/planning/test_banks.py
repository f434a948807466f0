"""Memories of a machine as options give them."""

from __future__ import annotations

import pytest

from et_ir.planning.banks import Bank, BankError, parse_banks, parse_size


def test_banks() -> None:
    assert parse_banks("sram:id=1,size=256K;dram:id=2") == (
        Bank("sram", 1, 256 << 10, 2.0),
        Bank("dram", 2, None, 1.0),
    )
    assert parse_banks(" l1 : id=3 , size=4096 , speed=10 ; l2 : id=1 , size=1MiB , speed=2.5 ; ") == (
        Bank("l1", 3, 4096, 10.0),
        Bank("l2", 1, 1 << 20, 2.5),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no bank given"),
        ("id=1", "has no name"),
        ("a", "has no id"),
        ("a:size=3", "expected for example a:id=1,size=3"),
        ("a:id=0", "is not a memory id"),
        ("a:id=1,id=2", "or is repeated"),
        ("a:id=1,color=3", "is not id=N"),
        ("a:id=1,size=3X", "is not a size"),
        ("a:id=1,size=9999999999G", "is not a size"),
        ("a:id=1,speed=0", "is not a positive number"),
        ("a:id=1,speed=nan", "is not a positive number"),
        ("a:id=1,speed=2;b:id=2", "either all banks have a speed or none"),
        ("a:id=1;a:id=2", "two banks have the name a"),
        ("a:id=1;b:id=1", "two banks have the id 1"),
    ],
)
def test_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(BankError, match=message):
        parse_banks(text)


@pytest.mark.parametrize(("text", "size"), [("7", 7), ("2K", 2048), ("1M", 1 << 20), ("3GB", 3 << 30)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size
