"""Reading and writing modules as text.

Ops read from a text that gives them no location get the place they stand at in it, so that whatever is said of them
later points there. The weight store of a text `model.mlir` is `model.safetensors` beside it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from math import prod
from pathlib import Path
from typing import IO, Final, NamedTuple, Never, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    DictionaryAttr,
    FileLineColLoc,
    Float80Type,
    Float128Type,
    FloatAttr,
    FusedLoc,
    IndexType,
    IntAttr,
    IntegerAttr,
    LocationAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    VectorType,
)
from xdsl.ir import Attribute, AttributeInvT, Block, Operation, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.ir.affine import AffineBinaryOpExpr, AffineConstantExpr, AffineExpr, AffineMap, AffineSet
from xdsl.parser import Parser, ParserState, UnresolvedOperand
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

from et_ir.context import OPERATOR_CLASSES, operator_op_class
from et_ir.data import Blob
from et_ir.data.store import WeightStore, is_weight_store, write_store
from et_ir.dialects.program.attributes import DataAttr
from et_ir.dialects.program.operator_declarations import DeclareOperatorOp
from et_ir.dialects.schema.literals import ELEMENT_TYPES, element_type_name
from et_ir.printing import INLINE_ELEMENTS, ModulePrinter, ValueNames
from et_schema.diagnostics import did_you_mean, near_names
from et_schema.errors import ExecutorchError
from et_schema.files import atomic_files
from et_schema.scalar_type import ScalarType
from et_schema.whole_numbers import MAX_WHOLE_NUMBER
from et_schema.wording import worded

__all__ = [
    "data_attributes",
    "module_text",
    "parse_module",
    "print_module",
    "resolve_weights",
    "save_text",
    "store_path",
    "stored_constants",
]


WIDEST: Final = 2**24 - 1
"""MLIR's limit of an integer type's width."""
MOST_ATTRIBUTES: Final = 100_000
"""Attributes that the uses of aliases may stand for in an empty text; each character allows one more."""
MOST_OVERLOADS: Final = 3
"""Most overloads of an operator that an error suggests in the place of its name without one."""
DEEPEST: Final = 64
"""Nesting of attributes and types, those of aliases among them: they are printed and compared by recursion."""
DEEPEST_LOCATION: Final = 256
"""Nesting of locations, which hold stacks of calls. A fused location counts twice, for the list of its parts."""
DEEPEST_AFFINE: Final = 64
"""Nesting of an affine expression: a sum of so many terms."""
LARGEST_AFFINE: Final = 2**63
"""MLIR's limit of the numbers in an affine expression."""
HIGHEST_RANK: Final = 64
"""Sizes of a tensor or vector: those that arrays of numpy and tensors of torch have at most."""
LONGEST_DECIMAL: Final = 4_300
"""Digits of a whole number: those that Python reads and prints."""
LONGEST_HEXADECIMAL: Final = 3_570
"""Hexadecimal digits of a whole number, which is printed with up to 4,300 decimal ones."""


_DIALECT: Final = re.compile(r"\W*(\w+)\.\S")
"""The dialect at the start of a name, which is a part of a message and as long as a text."""


_EXAMPLE: Final = "tensor<4xf32>"
"""A type for messages."""


def _quoted(token: str) -> str:
    return f"'{token}'" if token else "the end of the text"


def _which_is(name: str) -> str:
    """The way to write an element type that goes by the name of a dtype: `float32`, `torch.int64`, `double`."""
    name = name.removeprefix("torch.")
    for scalar in ScalarType:
        if name in (scalar.torch_name, scalar.name.lower()) and name not in ELEMENT_TYPES:
            try:
                return f", which is written {scalar.mlir}"
            except ExecutorchError:  # a type that no text has
                return ""
    return ""


class _Lexer(MLIRLexer):
    """xDSL's lexer, with string literals as files have them.

    Theirs takes time that doubles with each character of a literal that is not closed, and takes a literal with letters
    outside of ASCII, which are printed as escapes, for bytes.
    """

    # The same language, matched without trying again what has matched once.
    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def _lex_string_literal(self, start_pos: int) -> MLIRToken:
        token = super()._lex_string_literal(start_pos)
        if token.kind is MLIRTokenKind.BYTES_LIT:
            try:
                StringLiteral(token.span.start, token.span.end, self.input).bytes_contents.decode()
            except UnicodeDecodeError:
                return token
            return MLIRToken(MLIRTokenKind.STRING_LIT, token.span)
        return token

    def _lex_number(self, start_pos: int) -> MLIRToken:
        token = super()._lex_number(start_pos)
        if token.kind is MLIRTokenKind.INTEGER_LIT and len(token.span) > LONGEST_HEXADECIMAL:
            is_decimal = token.text[1] != "x"
            limit = LONGEST_DECIMAL if is_decimal else LONGEST_HEXADECIMAL
            if len(token.span) > limit + (0 if is_decimal else 2):
                raise ParseError(token.span, f"a whole number has at most {limit:,} digits")
        return token


class _Extent(NamedTuple):
    """Extent of an attribute: how many attributes it has with itself, those within others counted each time, and how
    deeply they are nested.
    """

    attributes: int
    depth: int


class _Aliases(dict[str, Attribute]):
    """Aliases of attributes. Each may have others many times, so that a short text stands for any number of attributes,
    which are compared and printed one by one: what all uses of aliases stand for is limited, and so is the depth.

    Args:
        limit: attributes that uses may stand for.
        nesting: the nesting of what is being read.
        refuse: raises an error of the text with a message.
    """

    def __init__(self, limit: int, nesting: Callable[[], int], refuse: Callable[[str], Never]) -> None:
        super().__init__()
        self._limit = self._left = limit
        self._nesting = nesting
        self._refuse = refuse
        self._extents: dict[int, _Extent] = {}

    def __setitem__(self, name: str, value: Attribute) -> None:
        super().__setitem__(name, value)
        extent = self._extents[id(value)] = self._extent(value)
        if extent.depth > DEEPEST:
            self._refuse(f"the attributes of alias {name} are nested more than {DEEPEST} deep")

    def __getitem__(self, name: str) -> Attribute:
        value = super().__getitem__(name)
        extent = self._extent(value)
        if self._nesting() + extent.depth > DEEPEST:
            self._refuse(f"with those of alias {name}, attributes are nested more than {DEEPEST} deep")
        self._left -= extent.attributes
        if self._left < 0:
            self._refuse(f"the aliases of the text stand for more than {self._limit:,} attributes")
        return value

    def _extent(self, value: Attribute) -> _Extent:
        known = self._extents.get(id(value))
        if known is not None:
            return known
        children = [self._extent(child) for child in _children(value)]
        return _Extent(
            1 + sum(child.attributes for child in children),
            1 + max((child.depth for child in children), default=0),
        )


def _children(value: Attribute) -> Iterable[Attribute]:
    """The attributes of an attribute."""
    if isinstance(value, ParametrizedAttribute):
        return value.parameters
    if isinstance(value, ArrayAttr):
        return cast("ArrayAttr[Attribute]", value).data
    if isinstance(value, DictionaryAttr):
        return value.data.values()
    return ()


class _LocatingParser(Parser):
    """Gives every op that has no location the place in the text where it starts, and every error a place.

    A tensor type is parsed once for all places where it is written in the same way: types are most of what there is to
    parse.

    xDSL has no interface for what a parser of its language does in another way, so this overrides methods that it keeps
    for itself: tests in `test_text.py` hold them to what xDSL's own parser reads.
    """

    _too_many_sizes = re.compile(rf"(?:(?:[0-9]+|\?|\[[0-9]+\])x){{{HIGHEST_RANK + 1}}}")
    _plain_tensor = re.compile(r'tensor<[^<>"#!]*>')

    def __init__(self, ctx: Context, text: str, name: str, first_line: int):
        super().__init__(ctx, "", name)
        self._parser_state = ParserState(_Lexer(Input(text, name)))
        self._depth = 0
        self._location_depth = 0
        self.attribute_aliases = _Aliases(MOST_ATTRIBUTES + len(text), lambda: self._depth, self.raise_error)
        self._file = StringAttr(name)
        self._first_line = first_line
        self._line_starts = [0]
        self._uses: dict[str, Span] = {}
        self._types: dict[str, TypeAttribute] = {}
        self._declared: dict[str, type[Operation]] = {}
        """Op classes of operators that the text declares: another text may declare others of these names."""
        position = text.find("\n")
        while position >= 0:
            self._line_starts.append(position + 1)
            position = text.find("\n", position + 1)

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        start = self._current_token
        too = ""
        if start.kind == MLIRTokenKind.EOF:
            module = ModuleOp([])
        else:
            try:
                module = super().parse_module(allow_implicit_module)
            except (RecursionError, MemoryError) as error:
                # Raised below: here the stack is as deep as it was.
                module, too = None, "deeply nested" if isinstance(error, RecursionError) else "large a number"
            except (NotImplementedError, ZeroDivisionError) as error:
                # Of what stands outside of operations.
                self.raise_error(str(error) or "this form of an attribute is not implemented")
            except ParseError as error:
                undefined = next(iter(self.forward_ssa_references), None)
                if undefined is not None and error.msg.startswith("values used but not defined"):
                    error.span = self._uses.get(undefined, error.span)
                elif error.msg == "Could not parse entire input!":
                    error.msg = "expected an operation"
                error.msg += self._hint(error.msg)
                raise
            if module is None:
                self.raise_error(f"too {too}", start.span)
        if module.location == UNKNOWN_LOC:
            module.location = self._location(start.span.start)
        return module

    def parse_operation(self) -> Operation:
        start = self._current_token.span.start
        try:
            op = super().parse_operation()
        except (VerifyException, ValueError, NotImplementedError, ZeroDivisionError) as error:
            # What an attribute or type that was just read has to say, or a string that is no text.
            self.raise_error(str(error) or "this form of an attribute is not implemented")
        if op.location == UNKNOWN_LOC:
            op.location = self._location(start)
        if isinstance(op, DeclareOperatorOp):
            self.declare(op)
        return op

    def declare(self, op: DeclareOperatorOp) -> None:
        """Note an operator that ops from here on may call."""
        self._declared.update((made.name, made) for made in op.classes())

    def _parse_optional_builtin_parametrized_type(self) -> TypeAttribute | None:
        token = self._current_token
        if token.kind is not MLIRTokenKind.BARE_IDENT:
            return None
        found = self._plain_tensor.match(token.span.input.content, token.span.start)
        if found is None:
            return super()._parse_optional_builtin_parametrized_type()
        known = self._types.get(found.group())
        if known is not None:
            self._resume_from(found.end())
            return known
        type = super()._parse_optional_builtin_parametrized_type()
        if type is not None:
            self._types[found.group()] = type
        return type

    def _parse_optional_integer_or_float_type(self) -> TypeAttribute | None:
        token = self._current_token
        width = self._builtin_integer_type_regex.match(token.text)
        # xDSL computes the range of values whatever the width.
        if width is not None and (len(width[1]) > len(str(WIDEST)) or int(width[1]) > WIDEST):
            self.raise_error(f"an integer type has at most {WIDEST} bits")
        return super()._parse_optional_integer_or_float_type()

    def parse_type(self) -> TypeAttribute:
        type = self.parse_optional_type()
        if type is None:
            found = self._current_token.text
            self.raise_error(f"expected a type such as {_EXAMPLE}, got {_quoted(found)}{_which_is(found)}")
        return type

    def parse_shape_delimiter(self) -> None:
        if self._parse_optional_shape_delimiter() is None:
            found = self._current_token.text
            self.raise_error(
                f"expected 'x' after a size, without spaces, as in {_EXAMPLE}, got {_quoted(found)}"
            )

    def parse_dimension_list(self) -> list[int]:
        start = self._current_token.span.start
        # What is behind a size is one token with all the sizes that follow, read again for each of them.
        if self._too_many_sizes.match(self._current_token.span.input.content, start) is not None:
            self._refuse_rank(start)
        sizes = super().parse_dimension_list()
        if len(sizes) > HIGHEST_RANK:
            self._refuse_rank(start)
        self._check_elements(sizes, start)
        return sizes

    def _parse_vector_attrs(self) -> VectorType[Attribute]:
        start = self._current_token.span.start
        if self._too_many_sizes.match(self._current_token.span.input.content, start) is not None:
            self._refuse_rank(start)
        type = super()._parse_vector_attrs()
        if type.get_num_dims() > HIGHEST_RANK:
            self._refuse_rank(start)
        self._check_elements(type.get_shape(), start)
        return type

    def _check_elements(self, sizes: Sequence[int], start: int) -> None:
        """Raise a ParseError for more elements than torch counts, also of a tensor that has none."""
        if prod(max(size, 1) for size in sizes) > MAX_WHOLE_NUMBER:
            self.raise_error(f"a tensor or vector has at most {MAX_WHOLE_NUMBER} elements", start, start + 1)

    def _refuse_rank(self, start: int) -> Never:
        self.raise_error(f"a tensor or vector has at most {HIGHEST_RANK} sizes", start, start + 1)

    def parse_ranked_shape(self) -> tuple[list[int], Attribute]:
        sizes = self.parse_dimension_list()
        if sizes:
            self.parse_shape_delimiter()
        return sizes, self._parse_element_type(has_sizes=bool(sizes))

    def parse_shape(self) -> tuple[list[int] | None, Attribute]:
        if self.parse_optional_punctuation("*") is None:
            return self.parse_ranked_shape()
        self.parse_shape_delimiter()
        return None, self._parse_element_type(has_sizes=True)

    def _parse_element_type(self, *, has_sizes: bool) -> TypeAttribute:
        """The type behind the sizes of a tensor."""
        type = self.parse_optional_type()
        if type is None:
            self.raise_error(self._no_element_type(has_sizes))
        return type

    def _no_element_type(self, has_sizes: bool) -> str:
        """The message where no type is in the place of that of a tensor's elements."""
        found = self._current_token.text
        first, _, others = found.partition("x")
        hint = ""
        if not has_sizes and others and first in ELEMENT_TYPES:
            hint = ": sizes are before the type"
        elif not has_sizes and (found == "-" or others.rpartition("x")[2] in ELEMENT_TYPES):
            hint = ": a size is a number or '?'"
        elif self._current_token.kind is MLIRTokenKind.BARE_IDENT:
            which = _which_is(found) or did_you_mean(found, ELEMENT_TYPES)
            which = which or f": the types are {', '.join(ELEMENT_TYPES)}"
            return f"expected an element type such as f32, got '{found}'{which}"
        expected = (
            "an element type such as f32" if has_sizes else f"sizes and an element type, as in {_EXAMPLE}"
        )
        return f"expected {expected}, got {_quoted(found)}{hint}"

    def parse_optional_attribute(self) -> Attribute | None:
        self._depth += 1
        self._check_depth()
        try:
            return super().parse_optional_attribute()
        finally:
            self._depth -= 1

    def parse_optional_type(self) -> TypeAttribute | None:
        self._depth += 1
        self._check_depth()
        try:
            return super().parse_optional_type()
        finally:
            self._depth -= 1

    def _check_depth(self) -> None:
        if self._depth > DEEPEST:
            self.raise_error(f"attributes are nested more than {DEEPEST} deep")

    def parse_optional_builtin_int_or_float_attr(self) -> IntegerAttr | FloatAttr | None:
        found = super().parse_optional_builtin_int_or_float_attr()
        if isinstance(found, FloatAttr) and isinstance(found.type, Float80Type | Float128Type):
            self.raise_error(f"values of type {found.type} are not implemented")
        return found

    def parse_affine_map(self) -> AffineMap:
        found = super().parse_affine_map()
        self._check_affine(found.results)
        return found

    def parse_affine_set(self) -> AffineSet:
        found = super().parse_affine_set()
        self._check_affine(side for one in found.constraints for side in (one.lhs, one.rhs))
        return found

    def parse_affine_map_of_ssa_ids(self) -> tuple[AffineMap, Sequence[SSAValue[IndexType]]]:
        found, operands = super().parse_affine_map_of_ssa_ids()
        self._check_affine(found.results)
        return found, operands

    def _check_affine(self, expressions: Iterable[AffineExpr]) -> None:
        """Raise an error of the text for what cannot be printed."""
        level = list(expressions)
        for _ in range(DEEPEST_AFFINE):
            if any(isinstance(one, AffineConstantExpr) and abs(one.value) > LARGEST_AFFINE for one in level):
                self.raise_error("a number of an affine expression has more than 64 bits")
            binary = [one for one in level if isinstance(one, AffineBinaryOpExpr)]
            level = [side for one in binary for side in (one.lhs, one.rhs)]
        if level:
            self.raise_error(f"an affine expression is nested more than {DEEPEST_AFFINE} deep")

    def _parse_location(self) -> LocationAttr:
        # xDSL prints the metadata of a fused location, and does not read it.
        is_fused = self.parse_optional_keyword("fused") is not None
        weight = 2 if is_fused else 1
        self._location_depth += weight
        if self._location_depth > DEEPEST_LOCATION:
            self.raise_error(f"locations are nested more than {DEEPEST_LOCATION} deep")
        try:
            return self._parse_fused() if is_fused else super()._parse_location()
        finally:
            self._location_depth -= weight

    def _parse_fused(self) -> FusedLoc:
        metadata: Attribute = NoneAttr()
        if self.parse_optional_punctuation("<") is not None:
            metadata = self.parse_attribute()
            self.parse_punctuation(">")
        parts = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
        return FusedLoc(tuple(parts), metadata)

    def _location(self, position: int) -> FileLineColLoc:
        line = bisect_right(self._line_starts, position)
        column = position - self._line_starts[line - 1] + 1
        return FileLineColLoc(self._file, IntAttr(line + self._first_line - 1), IntAttr(column))

    def resolve_operand(self, operand: UnresolvedOperand, type: AttributeInvT) -> SSAValue[AttributeInvT]:
        if operand.operand_name not in self.ssa_values:
            self._uses.setdefault(operand.operand_name, operand.span)
        return super().resolve_operand(operand, type)

    def _unclosed(self) -> str:
        """At the end of the text, the place of the innermost brace that is not closed."""
        if self._current_token.kind != MLIRTokenKind.EOF:
            return ""
        opened: list[int] = []
        lexer = _Lexer(self._current_token.span.input)
        while (token := lexer.lex()).kind != MLIRTokenKind.EOF:
            if token.kind == MLIRTokenKind.L_BRACE:
                opened.append(token.span.start)
            elif token.kind == MLIRTokenKind.R_BRACE and opened:
                opened.pop()
        if not opened:
            return ""
        place = self._location(opened[-1])
        return f": the '{{' of {place.line.data}:{place.column.data} is not closed"

    def _parse_block(self) -> Block:
        label = self._current_token
        if label.kind != MLIRTokenKind.CARET_IDENT:
            self.raise_error(f"expected an operation, a block or '}}'{self._unclosed()}")
        # xDSL does not note the place of a block that is branched to before it is there.
        if label.text[1:] in self.blocks and label.text[1:] not in self.forward_block_references:
            self.raise_error(f"re-declaration of block '{label.text[1:]}'")
        return super()._parse_block()

    def _get_op_by_name(self, name: str) -> type[Operation]:
        op = self._declared.get(name) or self._operator_class(name)
        if op is None:
            op = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if op is None:
            names = [*self._declared, *(known.name for known in self.ctx.loaded_ops)]
            names += [f"{classes.dialect}.{known}" for classes in OPERATOR_CLASSES for known in classes]
            overloads = [one for one in names if one.startswith(f"{name}.")]
            near = overloads[:MOST_OVERLOADS] or near_names(name, names, cutoff=0.8)
            hint = f", did you mean {' or '.join(near)}?" if near else ""
            if not near and name.startswith(("aten.", "edge.")) and name.count(".") > 1:
                hint = "; declare custom operators with program.operator before use"
            start = self._current_token.span.input.content.rfind(name, 0, self.pos)
            self.raise_error(f"Operation {name} is not registered{hint}", start, start + len(name))
        return op

    def _hint(self, message: str) -> str:
        """The way to a dialect that nothing registers, for the error that one of its names is not registered."""
        before, unregistered, _ = message.partition(" is not registered")
        found = _DIALECT.match(before, before.rfind(" ") + 1) if unregistered else None
        if found is None or found[1] in self.ctx.registered_dialect_names or "did you mean" in message:
            return ""
        return "; " + worded(
            python=f"register the dialect '{found[1]}' in the context",
            command=f"load the file that defines the dialect '{found[1]}' with --load FILE, or give et-opt "
            "--allow-unregistered-dialect and the operations in generic form",
        )

    def _operator_class(self, name: str) -> type[Operation] | None:
        """The class of an operator, of which only those that a text holds are made."""
        if name.partition(".")[0] not in self.ctx.registered_dialect_names:
            return None
        return operator_op_class(name)


def parse_module(ctx: Context, text: str, name: str = "<text>", first_line: int = 1) -> ModuleOp:
    """Parse a module; `first_line` is the number of the text's first line in the file `name`.

    A text without operations is an empty module. Raises `xdsl.utils.exceptions.ParseError`. Attributes are checked,
    operations are not verified.
    """
    return _LocatingParser(ctx, text, name, first_line).parse_module()


def print_module(
    module: ModuleOp,
    stream: IO[str],
    *,
    debuginfo: bool = False,
    generic: bool = False,
    inline_elements: int = INLINE_ELEMENTS,
    names: ValueNames | None = None,
) -> None:
    """Print a module and a final newline; with `debuginfo` each op's location too.

    Constants of more than `inline_elements` elements are printed by key and hash; with `names`, values are named as in
    the prints before this one.
    """
    printer = ModulePrinter(
        stream, debuginfo=debuginfo, generic=generic, inline_elements=inline_elements, names=names
    )
    printer.print_op(module)
    stream.write("\n")


def module_text(
    module: ModuleOp,
    *,
    debuginfo: bool = False,
    generic: bool = False,
    inline_elements: int = INLINE_ELEMENTS,
    names: ValueNames | None = None,
) -> str:
    """What `print_module` prints."""
    stream = StringIO()
    print_module(
        module, stream, debuginfo=debuginfo, generic=generic, inline_elements=inline_elements, names=names
    )
    return stream.getvalue()


def data_attributes(module: ModuleOp) -> Iterator[tuple[Operation, DataAttr]]:
    """Every constant of the module's symbols, with the op that holds it."""
    for op in module.body.block.ops:
        for attr in (*op.properties.values(), *op.attributes.values()):
            if isinstance(attr, DataAttr):
                yield op, attr


def store_path(text_path: Path) -> Path:
    """Path of a text file's weight store."""
    return text_path.with_suffix(".safetensors")


def resolve_weights(module: ModuleOp, store: WeightStore) -> list[Blob]:
    """Attach the store's bytes to the module's constants; returns the blobs that the store does not have."""
    return [
        attr.blob
        for _, attr in data_attributes(module)
        if not attr.blob.is_resolved and not store.resolve(attr.blob)
    ]


def stored_constants(
    module: ModuleOp, inline_elements: int = INLINE_ELEMENTS
) -> Iterator[tuple[Blob, str, tuple[int, ...]]]:
    """The constants that a module's text does not print: bytes, element type and shape, as the store takes them."""
    for op, attr in data_attributes(module):
        if attr.data.count > inline_elements:
            shape = getattr(op.properties.get("type"), "get_shape", lambda count=attr.data.count: (count,))()
            yield attr.blob, element_type_name(attr.element_type), tuple(shape)


def save_text(path: Path, text: str, constants: Iterable[tuple[Blob, str, tuple[int, ...]]]) -> None:
    """Write a text and the store of its `stored_constants` beside it: both, or if something fails neither.

    There is no store if there are no constants. Raises `MissingData` if one of them has no bytes, `OSError`, and of
    these `FileExistsError` if a file that is no store of a text has the store's name, such as weights of a model.
    """
    entries = list(constants)
    with atomic_files() as files:
        # The text refers to the store, so it is the last to appear.
        files.open(path).write(text.encode())
        if entries:
            write_store(files.open(store_path(path), is_weight_store), entries)
