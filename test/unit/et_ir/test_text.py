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


@pytest.mark.parametrize(
    ("types", "found"),
    [
        (("tensor<4xfloat32>", "tensor<*xfloat32>", "memref<4xfloat32>"), "'float32', which is written f32"),
        (("tensor<4xtorch.bfloat16>",), "'torch.bfloat16', which is written bf16"),
        (("tensor<4x?xlong>", "tensor<long>"), "'long', which is written i64"),
        (("tensor<4xbool>",), "'bool', which is written i1"),
        (("tensor<4xf23>", "tensor<f23>"), "'f23', did you mean 'f32'?"),
        (
            ("tensor<4xnumber>", "tensor<number>"),
            "'number': the types are ui8, i8, i16, i32, i64, f16, bf16, f32,",
        ),
        (("tensor<4x>",), "'>'"),
    ],
)
def test_wrong_element_types(types: tuple[str, ...], found: str) -> None:
    for type in types:
        assert error_of(type).startswith(f"expected an element type such as f32, got {found}")


@pytest.mark.parametrize(
    ("type", "found"),
    [
        ("tensor<>", "'>'"),
        ("tensor<Nxf32>", "'Nxf32': a size is a number or '?'"),
        ("tensor<Nx4xf32>", "'Nx4xf32': a size is a number or '?'"),
        ("tensor<-1xf32>", "'-': a size is a number or '?'"),
        ("tensor<f32x4>", "'f32x4': sizes are before the type"),
    ],
)
def test_wrong_sizes(type: str, found: str) -> None:
    assert error_of(type) == f"expected sizes and an element type, as in tensor<4xf32>, got {found}"


@pytest.mark.parametrize(
    ("type", "found"), [("tensor<4x4>", "'>'"), ("tensor<4,4xf32>", "','"), ("tensor<4 x f32>", "'f32'")]
)
def test_sizes_without_delimiters(type: str, found: str) -> None:
    expected = "expected 'x' after a size, without spaces, as in tensor<4xf32>"
    assert error_of(type) == f"{expected}, got {found}"


@pytest.mark.parametrize(
    ("type", "found"),
    [("float32[4]", "'float32', which is written f32"), ("number", "'number'"), ("", "')'")],
)
def test_wrong_types(type: str, found: str) -> None:
    assert error_of(type) == f"expected a type such as tensor<4xf32>, got {found}"


def error_of(type: str) -> str:
    with pytest.raises(ParseError) as raised:
        arguments(type)
    return raised.value.msg
