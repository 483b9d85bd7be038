"""Where the language of workflows leaves a choice, and what the package traxgen 0.1.5 chose."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from gpa.plans.conditions import Comparing
from gpa.plans.ordering import MAX_BLOCK, MAX_TRAJECTORIES


class Settings(Struct, frozen=True, kw_only=True):
    """Where the language leaves a choice."""

    missing: Literal["error", "used", "text"] = "error"
    """A reference that leads nowhere: an error anywhere in the user's workflows; only in a call that is made (a rule
    reads null); or never, and the call has the reference's text for a value."""
    coerce: bool = True
    """`"5"` equals 5 in conditions."""
    null_differs: bool = True
    """null != "x" holds in conditions."""
    undeclared_override: Literal["include", "drop", "error"] = "include"
    """A tool that `override_trajectory` names and no step declares."""
    permute_overrides: bool = True
    """Soft blocks are permuted inside an overriding trajectory too."""
    merge_overrides: bool = False
    """A later `override_params` of a tool adds to an earlier one instead of replacing it."""
    end_at_skipped: bool = True
    """`end_after` a step that is skipped ends there all the same."""
    drop_intermediate_close: tuple[str, ...] = ("complete_case",)
    """Tools that every workflow of a sequence but the last leaves out: the case stays open."""
    agent_label: str = "{workflow}"
    """The agent of a call; `{workflow}` and `{agent}` stand for the two names that a workflow has."""
    max_block: int = MAX_BLOCK
    max_trajectories: int = MAX_TRAJECTORIES
    over_cap: Literal["error", "sample"] = "error"
    """What exceeds a cap is refused, or a sample of `max_trajectories` is drawn; never cut in silence."""
    seed: int = 0
    """Of that sample."""

    @property
    def comparing(self) -> Comparing:
        """How conditions compare."""
        return Comparing(self.coerce, self.null_differs)


TRAXGEN = Settings(null_differs=False, undeclared_override="drop", merge_overrides=True, end_at_skipped=False)
"""The choices of the package traxgen 0.1.5 that can be defended; its faults are not among them (docs/workflows.md)."""
