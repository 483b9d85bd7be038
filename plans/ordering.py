"""The orders that soft blocks allow: counted before any is made, enumerated in a fixed sequence, or drawn with a seed.

A block is a tuple of positions; its members take those positions in any order, everything else stays where it is. The
package traxgen 0.1.5 replaces all from the first to the last member and so loses what stands between them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import permutations, product
from math import factorial, prod
from operator import itemgetter
from typing import Any, TypeAlias

MAX_BLOCK = 6
"""Tools in one soft block, unless the caller says otherwise; 6 have 720 orders, 10 have 3,628,800."""
MAX_TRAJECTORIES = 5000

Block: TypeAlias = tuple[int, ...]
Order: TypeAlias = tuple[int, ...]
"""At each position the index of what stands there."""


def count(blocks: Sequence[Sequence[object]]) -> int:
    """How many orders there are: the product of the factorials of the blocks' sizes."""
    return prod(factorial(len(block)) for block in blocks)


@lru_cache(maxsize=256)
def size(blocks: tuple[Block, ...]) -> tuple[int, int]:
    """How many orders there are, and how many members the largest block has."""
    return count(blocks), max(map(len, blocks), default=0)


def orders(length: int, blocks: Sequence[Block]) -> Iterator[Order]:
    """Every order: as written first, the last block changing fastest, each as `itertools.permutations` goes."""
    for arrangement in product(*(permutations(block) for block in blocks)):
        yield _placed(length, blocks, arrangement)


@lru_cache(maxsize=16)
def arrangers(length: int, blocks: tuple[Block, ...]) -> tuple[Callable[[Any], Any], ...]:
    """For every order the function that puts a tuple of that length into it; the length is 2 at least."""
    return tuple(itemgetter(*order) for order in orders(length, blocks))


def drawn(length: int, blocks: tuple[Block, ...], size: int, seed: str) -> tuple[Order, ...]:
    """As many different orders, in the sequence of `orders`: the one as written and others drawn with equal chances."""
    total = count(blocks)
    chance = random.Random(seed)  # noqa: S311 - a sample that can be repeated, not a secret
    numbers = {0}
    while len(numbers) < min(size, total):
        numbers.add(chance.randrange(total))
    return tuple(_placed(length, blocks, tuple(_arrangement(number, blocks))) for number in sorted(numbers))


def _arrangement(number: int, blocks: Sequence[Block]) -> Iterator[Block]:
    """The members of each block in the order that has this number in the sequence of `orders`."""
    total = count(blocks)
    for block in blocks:
        members = list(block)
        total //= factorial(len(block))
        index, number = divmod(number, total)
        arranged = []
        for left in range(len(members), 0, -1):
            at, index = divmod(index, factorial(left - 1))
            arranged.append(members.pop(at))
        yield tuple(arranged)


def _placed(length: int, blocks: Sequence[Block], arrangement: Sequence[Block]) -> Order:
    order = list(range(length))
    for slots, members in zip(blocks, arrangement, strict=True):
        for slot, member in zip(slots, members, strict=True):
            order[slot] = member
    return tuple(order)
