"""The short form of pytree specs: exact inverse of torch's text."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._pytree import tree_structure, treespec_dumps
from xdsl.dialects.builtin import StringAttr

from et_ir.dialects.program.trees import TreeAttr, compact_tree, expand_tree, tree_attribute

names = st.from_regex(r"[a-z_][a-z0-9_]{0,4}", fullmatch=True)
trees = st.recursive(
    st.just(0),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.lists(inner, max_size=3),
        st.dictionaries(names, inner, max_size=3),
    ),
    max_leaves=12,
)


@given(trees)
def test_nested_containers_survive(tree: Any) -> None:
    text = treespec_dumps(tree_structure(tree))
    short = compact_tree(text)
    assert short is not None
    assert expand_tree(short) == text
    assert tree_attribute(text) == TreeAttr(text)


def test_the_short_form_is_short() -> None:
    text = treespec_dumps(tree_structure(((1, [2]), {"mask": 3})))
    assert compact_tree(text) == "((*, [*]), {mask: *})"


@pytest.mark.parametrize("tree", [OrderedDict(a=1), {1: 2}, {"not a name": 1}])
def test_what_has_no_short_form_stays_text(tree: Any) -> None:
    text = treespec_dumps(tree_structure(tree))
    assert compact_tree(text) is None
    assert tree_attribute(text) == StringAttr(text)


@pytest.mark.parametrize("text", ["", "not json", "[2, {}]", "[1]", "{}", '[1, {"type": null}]'])
def test_foreign_text_stays_text(text: str) -> None:
    assert tree_attribute(text) == StringAttr(text)


@pytest.mark.parametrize("short", ["", "(", "(*", "* *", "(*,)", "{a *}", "{: *}x", "(*)]", "a", "{a: *, a}"])
def test_malformed_short_forms_are_refused(short: str) -> None:
    with pytest.raises(ValueError, match="tree"):
        expand_tree(short)
