"""How deep and how wide a graph of steps is.

Depth counts nodes on the longest path, breadth is nodes over depth, so that a chain has breadth 1 (arXiv 2605.08477,
section on plan topology). Hops count edges: one less than the depth, unless only some steps give the answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct

from gpa.errors import FormatError

Dependencies = Mapping[str, Iterable[str]]
"""Step -> the steps it needs. Steps that are only needed count as steps too."""


class CycleError(FormatError):
    """Steps that wait for each other have no depth."""


class Topology(Struct, frozen=True):
    """The shape of a graph of steps; 0 nodes have depth 0 and breadth 0."""

    nodes: int
    depth: int
    breadth: float

    @property
    def hops(self) -> int:
        """Edges on the longest path."""
        return max(self.depth - 1, 0)


def topology(dependencies: Dependencies) -> Topology:
    """Nodes, depth and breadth. Raises `CycleError`."""
    levels = depths(dependencies)
    depth = max(levels.values(), default=-1) + 1
    return Topology(len(levels), depth, len(levels) / depth if depth else 0.0)


def depths(dependencies: Dependencies) -> dict[str, int]:
    """For each step the edges on the longest path that leads to it, 0 for one that needs nothing.

    Raises:
        CycleError: naming the steps that wait for each other.
    """
    found: dict[str, int] = {}
    for step in in_order(dependencies):
        found[step] = max((found[needed] + 1 for needed in dependencies.get(step, ())), default=0)
    return found


def hops(dependencies: Dependencies, answers: Collection[str] = ()) -> int:
    """Edges on the longest path to a step that gives the answer; to any step when none is named."""
    levels = depths(dependencies)
    return max((level for step, level in levels.items() if not answers or step in answers), default=0)


def sinks(dependencies: Dependencies) -> tuple[str, ...]:
    """The steps that no other step needs, in order."""
    needed = {one for several in dependencies.values() for one in several}
    return tuple(step for step in in_order(dependencies) if step not in needed)


def in_order(dependencies: Dependencies) -> list[str]:
    """The steps, each after all it needs, otherwise in the order given. Raises `CycleError`."""
    placed: dict[str, None] = {}
    for first in dependencies:
        path: dict[str, Iterator[str]] = {} if first in placed else {first: iter(dependencies[first])}
        while path:
            step, needed = next(reversed(path.items()))
            following = next((one for one in needed if one not in placed), None)
            if following is None:
                placed[step] = None
                path.popitem()
            elif following in path:
                steps = list(path)
                around = " -> ".join((*steps[steps.index(following) :], following))
                raise CycleError(f"expected steps that can be put in an order, found a cycle: {around}")
            else:
                path[following] = iter(dependencies.get(following, ()))
    return list(placed)
