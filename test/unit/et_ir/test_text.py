"""Reading modules: a type written in the same way twice is parsed once, and is the type that it says."""

import io
from time import process_time

import pytest
from support.modules import parse
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import ParseError

from et_ir.text import print_module


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


@pytest.mark.parametrize(
    "value",
    [
        "[" * 60 + "1" + "]" * 60,
        "1.0 : f64",
        "affine_map<(d0) -> (d0 * -2 + 1, d0 floordiv 3 mod 2)>",
        "affine_map<(d0) -> (" + " + ".join(["d0"] * 60) + ")>",
        "affine_map<() -> (9223372036854775807)>",
        "0x" + "F" * 3570 + " : i15000",
    ],
)
def test_values_that_are_printed_and_read_again(value: str) -> None:
    text = io.StringIO()
    print_module(parse(f"builtin.module attributes {{a = {value}}} {{}}"), text)
    again = io.StringIO()
    print_module(parse(text.getvalue()), again)
    assert text.getvalue() == again.getvalue()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("[" * 70 + "1" + "]" * 70, "attributes are nested more than 64 deep"),
        ("tuple<" * 150 + "i1" + ">" * 150, "attributes are nested more than 64 deep"),
        ("{a = " * 70 + "1" + "}" * 70, "attributes are nested more than 64 deep"),
        ("() -> (" * 150 + "i1" + ")" * 150, "attributes are nested more than 64 deep"),
        ("9" * 4301, "a whole number has at most 4,300 digits"),
        ("0x" + "F" * 3571, "a whole number has at most 3,570 digits"),
        ("array<i16777215: 1>", "not implemented"),
        ("dense<1> : tensor<2xi16777215>", "not implemented|not supported|Unsupported"),
        ("1.0 : f80", "values of type f80 are not implemented"),
        ("1.0 : f128", "values of type f128 are not implemented"),
        (
            "affine_map<(d0) -> (" + " + ".join(["d0"] * 5000) + ")>",
            "affine expression is nested more than 64",
        ),
        (
            "affine_set<(d0) : (" + " + ".join(["d0"] * 5000) + " >= 0)>",
            "affine expression is nested more than 64",
        ),
        ("affine_map<() -> (" + " * ".join(["9999999999"] * 3000) + ")>", "more than 64 bits"),
        ("affine_map<() -> (1 floordiv 0)>", "by zero"),
        ("affine_map<() -> (1 mod 0)>", "by zero"),
    ],
)
def test_values_that_cannot_be_printed(value: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(f"builtin.module attributes {{a = {value}}} {{}}")


def test_attributes_that_are_nested_by_aliases_and_without() -> None:
    aliases = "#a0 = [1]\n" + "".join(f"#a{i} = [#a{i - 1}]\n" for i in range(1, 40))
    with pytest.raises(ParseError, match="with those of alias #a39, attributes are nested more than 64 deep"):
        parse(aliases + "builtin.module attributes {a = " + "[" * 40 + "#a39" + "]" * 40 + "} {}")


@pytest.mark.parametrize(
    ("start", "end", "depth"),
    [("callsite(", " at unknown)", 250), ("fused[", "]", 125), ("fused<[1]>[", "]", 125), ('"a"(', ")", 250)],
)
def test_nesting_of_locations(start: str, end: str, depth: int) -> None:
    def text(depth: int) -> str:
        return f"func.func @f() {{ func.return loc({start * depth}unknown{end * depth}) }}\n"

    for debuginfo in (False, True):
        print_module(parse(text(depth)), io.StringIO(), debuginfo=debuginfo)
    with pytest.raises(ParseError, match=r"locations are nested more than 256 deep|too deeply nested"):
        parse(text(depth * 2))


def test_external_resources() -> None:
    with pytest.raises(ParseError, match="only dialect resources are supported"):
        parse('{-# external_resources: {x: {y: "0x01"}} #-}\nbuiltin.module {}')


@pytest.mark.parametrize(
    "text",
    [
        "func.func @f() {{ {name} }}",
        "func.func @f(%x: !{name}) {{ func.return }}",
        "module attributes {{a = #{name}}} {{}}",
    ],
    ids=["operation", "type", "attribute"],
)
@pytest.mark.parametrize("name", ["a", "a.", "a-", "a$"])
def test_long_names_that_nothing_registers(text: str, name: str) -> None:
    before = process_time()
    with pytest.raises(ParseError):
        parse(text.format(name=name * (200_000 // len(name))))
    assert process_time() - before < 3


@pytest.mark.parametrize("sizes", ["1x", "?x", "1 x", "1 //\nx"])
def test_rank_of_a_tensor(sizes: str) -> None:
    parse(f"func.func @f(%x: tensor<{sizes * 64}f32>) {{ func.return }}")
    before = process_time()
    for rank in (65, 100_000):
        with pytest.raises(ParseError, match="a tensor or vector has at most 64 sizes"):
            parse(f"func.func @f(%x: tensor<{sizes * rank}f32>) {{ func.return }}")
    assert process_time() - before < 5


@pytest.mark.parametrize("kind", ["tensor", "vector"])
@pytest.mark.parametrize(
    "sizes",
    [(2**63,), (2**32, 2**31), ("9" * 4_000,), (2**63, 0)],
    ids=["2**63", "product", "digits", "empty"],
)
def test_elements_of_a_tensor(kind: str, sizes: tuple[int | str, ...]) -> None:
    """As many as torch counts, so that work and memory are numbers of floats too."""
    parse(f"func.func @f(%x: {kind}<{2**63 - 1}xf32>, %y: {kind}<{2**62}x1xf32>) {{ func.return }}")
    shape = "".join(f"{size}x" for size in sizes)
    with pytest.raises(ParseError, match=f"a tensor or vector has at most {2**63 - 1} elements"):
        parse(f"func.func @f(%x: {kind}<{shape}f32>) {{ func.return }}")


@pytest.mark.parametrize("size", ["1x", "[1]x"])
def test_rank_of_a_vector(size: str) -> None:
    parse(f"func.func @f(%x: vector<{size * 64}f32>) {{ func.return }}")
    for rank in (65, 100_000):
        with pytest.raises(ParseError, match="a tensor or vector has at most 64 sizes"):
            parse(f"func.func @f(%x: vector<{size * rank}f32>) {{ func.return }}")
