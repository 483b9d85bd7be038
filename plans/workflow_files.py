"""Workflows out of files: one a file, several in an object by name, or in an array; a folder is all its `*.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gpa.errors import InputError
from gpa.plans.located import Located, WorkflowError, found
from gpa.plans.workflow import KEYS, Workflow, read_workflow

Workflows = Mapping[str, Workflow]
"""By name, in the order of the files."""


def load_workflows(paths: str | Path | Iterable[str | Path]) -> dict[str, Workflow]:
    """The workflows by name; raises `WorkflowError` with every error in every file."""
    workflows, errors = survey_workflows(paths)
    if errors:
        raise WorkflowError(errors)
    return workflows


def read_workflows(values: Mapping[str, Any]) -> dict[str, Workflow]:
    """The workflows that are given as JSON values by name; raises `WorkflowError` with every error in all of them."""
    errors: list[Located] = []
    workflows = _read(((name, value, "") for name, value in values.items()), errors)
    if errors:
        raise WorkflowError(errors)
    return workflows


def survey_workflows(paths: str | Path | Iterable[str | Path]) -> tuple[dict[str, Workflow], list[Located]]:
    """The workflows that can be used, and every error in the others."""
    files = _files([paths] if isinstance(paths, str | Path) else paths)
    errors: list[Located] = []
    return _read((entry for file in files for entry in _entries(file, errors)), errors), errors


def _read(entries: Iterable[tuple[str, Any, str]], errors: list[Located]) -> dict[str, Workflow]:
    """The workflows that can be used; what is wrong with the others joins the errors in the order of the files."""
    workflows: dict[str, Workflow] = {}
    seen: dict[str, str] = {}
    for name, value, file in entries:
        if name in seen:
            errors.append(Located(file=file, workflow=name, message=f"there is one of this name in {seen[name]}"))
        workflow, wrong = read_workflow(name, value, file=file)
        errors += wrong
        if workflow is not None and name not in seen:
            workflows[name] = workflow
        seen.setdefault(name, file)
    return workflows


def _files(paths: Iterable[str | Path]) -> Iterator[Path]:
    for path in map(Path, paths):
        if path.is_dir():
            files = sorted(path.glob("*.json"))
            if not files:
                raise InputError(f"{path}: no *.json in this folder")
            yield from files
        elif path.exists():
            yield path
        else:
            raise InputError(f"{path}: no such file or folder")


def _entries(path: Path, errors: list[Located]) -> Iterator[tuple[str, Any, str]]:
    """Name, value and file of each workflow in the file."""
    file = str(path)
    twice: list[str] = []
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=lambda pairs: _object(pairs, twice))
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from error
    except json.JSONDecodeError as error:
        errors.append(Located(file=f"{file}:{error.lineno}:{error.colno}", message=f"expected JSON: {error.msg}"))
        return
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        errors.append(Located(file=file, message=f"expected JSON in UTF-8: {reason}"))
        return
    errors.extend(Located(file=file, field=key, message="the key stands twice in one object") for key in twice)
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield _name(item, f"[{index}]"), item, f"{file}[{index}]"
    elif isinstance(value, dict) and value and not _is_workflow(value):
        for name, item in value.items():
            yield name, item, file
    elif isinstance(value, dict):
        yield _name(value, path.stem), value, file
    else:
        errors.append(Located(file=file, message=f"expected a workflow, found {found(value)}"))


def _object(pairs: list[tuple[str, Any]], twice: list[str]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice.extend(key for key in made if keys.count(key) > 1)
    return made


def _is_workflow(value: dict[str, Any]) -> bool:
    """Whether the object is one workflow: it has a key of one, and is no collection of objects by name."""
    return not value.keys().isdisjoint(KEYS) and not all(isinstance(item, dict) for item in value.values())


def _name(value: Any, otherwise: str) -> str:
    agent = value.get("agent") if isinstance(value, dict) else None
    return agent if isinstance(agent, str) and agent else otherwise
