"""Guards on input sizes: semantics, encoding, and invalid conditions."""

import pytest

from et_schema.guards import MethodGuards, checked, decode, encode, parse

SIZES = {("x", 0): 6, ("x", 1): 4, ("y", 0): 7, ("n", None): -3}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 <= x.shape[0] <= 64", True),
        ("2 <= x.shape[0] <= 5", False),
        ("y.shape[0] == x.shape[0] + 1", True),
        ("x.shape[0] % 4 == 0", False),
        ("x.shape[0] // 4 * 4 + x.shape[0] % 4 == x.shape[0]", True),
        ("x.shape[0] / 4 == 1.5", True),
        ("n < 0 and -n == 3", True),
        ("n > 0 or x.shape[1] != 4", False),
        ("not n > 0", True),
        ("max(x.shape[0], y.shape[0]) == 7", True),
        ("min(x.shape[0], 2, n) == -3", True),
        ("ceil(0.3 * y.shape[0]) == floor(3.5)", True),
        (
            "round(x.shape[0] / 4) == int(2.9) and trunc(-2.5) == -2 and abs(n) == float(3)",
            True,
        ),
        ("sqrt(x.shape[0] - 2) == 2", True),
        ("sqrt(n) == 2", False),
        ("x.shape[0] % 0 == 0", False),
        ("x.shape[0] // (n + 3) >= 0", False),
    ],
)
def test_conditions(text: str, expected: bool) -> None:
    assert parse(text).holds(SIZES) is expected


def test_what_a_condition_is_about() -> None:
    assert parse("y.shape[2] == x.shape[0] + n + y.shape[2]").sizes == (("y", 2), ("x", 0), ("n", None))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x.shape[0] ==",
        "x.shape[y]",
        "x.shape[True] == 1",
        "x.stride[0] == 1",
        "x.y.shape[0] == 1",
        "x.shape[0] ** 9 == 1",
        "x.shape[0] is x.shape[1]",
        "open(x.shape[0])",
        "min(x.shape[0])",
        "max(1, default=2)",
        "abs()",
        "'a' == 'a'",
        "[1, 2] == 3",
        "__import__ == 1 if n else 2",
        "-" * 110 + "n == 1",
        "(" * 3000 + "n",
        "n + " * 1500 + "n == 1",
        "n == 1\x00",
        "lambda: 1",
    ],
)
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(ValueError, match="condition"):
        parse(text)


def test_long_sums_are_refused_rather_than_deep() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse("n + " * 110 + "n == 1")
    assert parse("n + " * 60 + "n == -183").holds(SIZES)


def test_files_hold_what_was_written() -> None:
    methods = {
        "forward": checked(["x", "y"], ["2 <= x.shape[0] <= 64", "y.shape[0] == x.shape[0]"]),
        "empty": MethodGuards((), ()),
    }
    data = encode(methods)
    assert decode(memoryview(data)) == methods
    assert encode(decode(data)) == data
    assert data.startswith(b'{"empty":{"inputs":[],"guards":[]},"forward":')


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no JSON"),
        (b"\xff", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", "expected an object"),
        (b'{"forward": []}', "expected an object with"),
        (b'{"forward": {"inputs": []}}', "expected an object with"),
        (b'{"forward": {"inputs": [1], "guards": []}}', "lists of strings"),
        (b'{"forward": {"inputs": "xy", "guards": []}}', "lists of strings"),
        (b'{"forward": {"inputs": ["x", "x"], "guards": []}}', "distinct"),
        (b'{"forward": {"inputs": ["x y"], "guards": []}}', "identifiers"),
        (
            b'{"forward": {"inputs": ["x"], "guards": ["y.shape[0] == 1"]}}',
            "refers to y, which is not an input",
        ),
        (b'{"forward": {"inputs": ["x"], "guards": ["x.shape[-1] == 1"]}}', "not a condition"),
        (b'{"forward": {"inputs": ["x"], "guards": ["print(x)"]}}', "not a condition"),
        (
            b'{"forward": {"inputs": [], "guards": [' + b",".join([b'"1 == 1"'] * 10_001) + b"]}}",
            "10001 guards, at most 10000",
        ),
    ],
)
def test_malformed_data(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode(data)
