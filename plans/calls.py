"""Tool calls and trajectories: what a workflow compiles to, what a trace did, what the two are compared by.

Knows nothing of workflows, traces or metrics: every module of this room may import it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec


class ToolCall(msgspec.Struct, frozen=True, gc=False):  # in no cycle: nothing to collect
    """One call of a tool with its arguments, and the agent that makes it."""

    tool: str
    arguments: dict[str, Any] = {}
    """Values by parameter name, in the order of the call; the order says nothing about equality."""
    agent: str = ""
    """The workflow or agent the call belongs to; empty where it is not known."""


Trajectory: TypeAlias = tuple[ToolCall, ...]
"""Calls in the order they are made."""


class GoldSet(msgspec.Struct, frozen=True, gc=False):
    """Every trajectory that is right for one user: what an agent may do, and nothing else."""

    user: str
    """The user's id as text."""
    trajectories: tuple[Trajectory, ...]
    """The canonical order first; no two are the same; never empty when compiled, though one may have no calls."""
    agents: tuple[str, ...] = ()
    """The workflows in the order the user goes through them."""
    total: int = 0
    """Trajectories that exist; more than there are here when `notes` say that they were sampled."""
    blocks: tuple[tuple[int, ...], ...] = ()
    """Soft blocks: positions in the canonical trajectory whose calls may change places with one another."""
    notes: tuple[str, ...] = ()
    """What a reader should know: what was dropped, capped, or taken to mean."""
