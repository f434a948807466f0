"""Reading modules: a type written in the same way twice is parsed once, and is the type that it says."""

import pytest
from support.modules import parse
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import ParseError


def arguments(*types: str) -> list[object]:
    names = ", ".join(f"%{index}: {type}" for index, type in enumerate(types))
    (method,) = parse(f"func.func @f({names}) {{ func.return }}").body.block.ops
    assert isinstance(method, FuncOp)
    return [argument.type for argument in method.body.block.args]


def test_types_written_alike_are_one_object() -> None:
    first, second, spaced = arguments("tensor<2x3xf32>", "tensor<2x3xf32>", "tensor< 2x3xf32 >")
    assert first is second
    assert first == spaced
    assert str(first) == "tensor<2x3xf32>"


@pytest.mark.parametrize(
    "text",
    [
        "tensor<?x3xi64>",
        "tensor<f16>",
        "tensor<2xcomplex<f32>>",
        "tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>",
    ],
)
def test_every_kind_of_tensor_type_is_read(text: str) -> None:
    first, second = arguments(text, text)
    assert str(first) == str(second) == text


def test_what_follows_a_known_type_is_read_from_its_end() -> None:
    first, number, second = arguments("tensor<2xf32>", "i64", "tensor<2xf32>")
    assert (str(first), str(number), str(second)) == ("tensor<2xf32>", "i64", "tensor<2xf32>")


def test_a_malformed_type_is_an_error_every_time() -> None:
    for _ in range(2):
        with pytest.raises(ParseError):
            arguments("tensor<2xf32>", "tensor<2x>")


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ("#a{0} = [#a{1}, #a{1}]", "the aliases of the text stand for more than 10"),
        ("#a{0} = {{x = #a{1}, y = #a{1}}}", "the aliases of the text stand for more than 10"),
        ("!a{0} = tuple<!a{1}, !a{1}>", "the aliases of the text stand for more than 10"),
        ("#a{0} = [#a{1}]", "are nested more than 64 deep"),
    ],
)
def test_aliases_that_stand_for_too_much(definition: str, message: str) -> None:
    first = "!a0 = f32" if definition.startswith("!") else "#a0 = [1]"
    text = "\n".join([first, *(definition.format(i, i - 1) for i in range(1, 100))])
    with pytest.raises(ParseError, match=message):
        parse(text)


def test_aliases_are_used_many_times() -> None:
    method = "func.func @f{0}(%x: !t) attributes {{x = #a}} {{ func.return }}\n"
    module = parse("#a = [1, 2]\n!t = tensor<2xf32>\n" + "".join(map(method.format, range(1000))))
    assert len(list(module.body.block.ops)) == 1000
