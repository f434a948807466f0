"""Grouping: convex, acyclic and few partitions."""

from hypothesis import given, settings
from hypothesis import strategies as st

from et_ir.delegation.contraction import ContractionGraph
from et_ir.delegation.grouping import NO_COLOUR, Grouping, group


@st.composite
def graphs(draw):
    """Predecessors, colours and patterns of a random graph."""
    count = draw(st.integers(1, 24))
    before = [draw(st.sets(st.integers(0, node - 1), max_size=3)) if node else set() for node in range(count)]
    colours = draw(st.lists(st.sampled_from([NO_COLOUR, 0, 0, 1]), min_size=count, max_size=count))
    patterns, used = [], set()
    for node in range(count):
        for other in sorted(before[node]):
            same = colours[node] == colours[other] != NO_COLOUR
            if same and not {node, other} & used and draw(st.booleans()):
                patterns.append([other, node])
                used |= {node, other}
    return before, colours, patterns


def is_acyclic(before, found: Grouping) -> bool:
    """Whether the graph has no circle once each group is one node."""
    unit = list(range(len(before)))
    for number, nodes in enumerate(found.groups):
        for node in nodes:
            unit[node] = len(before) + number
    needs = {one: set() for one in unit}
    for node, others in enumerate(before):
        needs[unit[node]] |= {unit[other] for other in others} - {unit[node]}
    while needs:
        free = [one for one, others in needs.items() if not others]
        if not free:
            return False
        for one in free:
            del needs[one]
        for others in needs.values():
            others.difference_update(free)
    return True


@settings(max_examples=300)
@given(graphs())
def test_groups_are_convex(graph):
    before, colours, patterns = graph
    found = group(before, colours, patterns)
    assert is_acyclic(before, found)
    grouped = [node for nodes in found.groups for node in nodes]
    assert len(grouped) == len(set(grouped))
    parted = {node for number in found.parted for node in patterns[number]}
    assert set(grouped) == {n for n, colour in enumerate(colours) if colour != NO_COLOUR} - parted
    place = {node: number for number, nodes in enumerate(found.groups) for node in nodes}
    for number, nodes in enumerate(patterns):
        assert number in found.parted or len({place[node] for node in nodes}) == 1
    assert all(len({colours[node] for node in nodes}) == 1 for nodes in found.groups)


@settings(max_examples=200)
@given(graphs(), st.lists(st.tuples(st.integers(0, 23), st.integers(0, 23)), max_size=20))
def test_contraction_keeps_a_topological_order(graph, pairs):
    before = graph[0]
    merged = ContractionGraph(before)
    for a, b in pairs:
        if a < len(before) and b < len(before):
            merged.contract(a, b)
    assert len({merged.rank[node] for node in merged.nodes()}) == len(merged.nodes())
    for node, others in enumerate(before):
        for other in others:
            a, b = merged.find(other), merged.find(node)
            assert a == b or merged.rank[a] < merged.rank[b]
            assert a == b or (b in merged.after[a] and a in merged.before[b])


def test_a_path_outside_parts_a_group():
    # 0 -> 1 (not taken) -> 2, and 0 -> 2
    assert group([set(), {0}, {0, 1}], [0, NO_COLOUR, 0]).groups == [[0], [2]]


def test_what_levels_part_is_merged():
    # 0 needs nothing, 2 needs what is not taken; 3 uses both, and all three can be one.
    assert group([set(), set(), {1}, {0, 2}], [0, NO_COLOUR, 0, 0]).groups == [[0, 2, 3]]


def test_what_uses_the_same_value_is_merged():
    before = [set(), {0}, {0}]
    assert group(before, [NO_COLOUR, 0, 0]).groups == [[1, 2]]
    assert group([set(), set()], [0, 0], siblings=[[0, 1]]).groups == [[0, 1]]
    assert len(group([set(), set()], [0, 0]).groups) == 2


def test_a_pattern_with_a_way_round_is_parted():
    found = group([set(), {0}, {0, 1}], [0, NO_COLOUR, 0], patterns=[[0, 2]])
    assert found.groups == []
    assert found.parted == [0]


def test_a_search_that_gives_up_merges_nothing():
    graph = ContractionGraph([set(), {0}, {0}, {0}], effort=1)
    assert graph.contract(0, 3) is None
    assert ContractionGraph([set(), {0}, {0}, {0}]).contract(0, 3) is not None
    assert not ContractionGraph([set(), {0}, {0}, {0, 1}], effort=1).is_convex([0, 3])


def test_time_is_near_linear():
    """A search per merge, each bounded: of twice as many nodes no more than twice as many edges are looked at."""

    class Counting(set):
        looked = 0

        def __iter__(self):
            for one in super().__iter__():
                Counting.looked += 1
                yield one

    def looked(count: int) -> int:
        graph = ContractionGraph([{node - 1, max(node - 7, 0)} - {-1, node} for node in range(count)])
        graph.after = [Counting(nodes) for nodes in graph.after]
        Counting.looked = 0
        for node in range(1, count):
            graph.contract(node - 1, node)
        return Counting.looked

    assert looked(2000) < 2.5 * looked(1000)
