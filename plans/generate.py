"""The call that users of the package traxgen know, `generate_trajectories`, on our compiler.

What differs: wrong input raises one `WorkflowError` that lists everything (the package ends the process), ids are text,
the caller's records are never changed, and nothing is printed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from gpa.errors import UsageError
from gpa.plans.calls import GoldSet
from gpa.plans.compile import Rejected, Settings, compile_users
from gpa.plans.draw import svg
from gpa.plans.located import WorkflowError
from gpa.plans.outputs import MODES, data_and_trajectory, formats_named, trajectory_only
from gpa.plans.picture import gold_picture
from gpa.plans.users import ID_FIELD
from gpa.plans.workflow_files import read_workflows

RETURN = "return"


def generate_trajectories(
    customer_data: Mapping[str, Any] | Iterable[Mapping[str, Any]],
    routine_data: Mapping[str, Any],
    id_field: str = ID_FIELD,
    trajectory_format: str | Iterable[str] = "tool_only",
    *,
    output_path: str | Path | None = None,
    output_mode: Literal["return", "trajectory_only", "data_and_trajectory"] = "return",
    external_data: Mapping[str, Any] | None = None,
    enable_visualization: bool = False,
    settings: Settings | None = None,
) -> dict[str, dict[str, list[Any]]]:
    """`{user id: {format: [trajectory, ...]}}` for users and workflows that are given as JSON values.

    The two other modes also write JSON to `output_path`: that result, or copies of the users with their trajectories.
    `enable_visualization` draws each trajectory into the folder `graphs` beside it, an SVG a file.
    """
    formats = formats_named(trajectory_format)
    if output_mode not in (RETURN, *MODES):
        raise UsageError(f"output_mode is {', '.join((RETURN, *MODES))}; found {output_mode!r}")
    if output_path is None and (output_mode != RETURN or enable_visualization):
        raise UsageError("output_path: missing; modes that write and drawings need one")
    users = [customer_data] if isinstance(customer_data, Mapping) else list(customer_data)
    results = list(
        compile_users(read_workflows(routine_data), users, settings=settings, id_field=id_field, external=external_data)
    )
    errors = [error for result in results if isinstance(result, Rejected) for error in result.errors]
    if errors:
        raise WorkflowError(errors)
    gold = [result for result in results if isinstance(result, GoldSet)]
    made = trajectory_only(gold, formats)
    if output_path is not None:
        path = Path(output_path)
        if output_mode != RETURN:
            whole = (
                made
                if output_mode == "trajectory_only"
                else data_and_trajectory(users, gold, formats, id_field=id_field)
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        if enable_visualization:
            _draw(gold, path.parent / "graphs")
    return made


def _draw(gold: Iterable[GoldSet], folder: Path) -> None:
    """The package names files by workflows alone, so that the last user's remain; here every user has its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for at, one in enumerate(gold):
        for number in range(1, len(one.trajectories) + 1):
            name = f"traj_{at}_{'_'.join(one.agents)}_{number}.svg"
            safe = "".join(character if character.isalnum() or character in "-_." else "_" for character in name)
            (folder / safe).write_text(svg(gold_picture(one, number)), encoding="utf-8")
