"""What tools can do, and which of it serves which requirement: the registry of tools and the capability mapping.

Both are data. A tool says its capabilities; the mapping says which capabilities serve a label (one of them is enough),
which names mean the same, and which capability follows from several (`plot` and `time_series` make
`time_series_plot`). A team extends them by editing metadata, never code; `lint` finds what does not fit together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from gpa.errors import InputError
from gpa.plans.located import found, meant
from gpa.plans.toml_or_json import read_value

_MAPPING = "capabilities.toml"


class RegisteredTool(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool of the registry."""

    name: str
    capabilities: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    """Parameters that the data itself goes into (`df`): never a matter of intent."""
    params: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    description: str = ""
    defaults: dict[str, Any] = {}
    """Values of parameters that need not be given."""

    @property
    def document(self) -> str:
        """What is searched: name, description, capabilities, parameters, outputs."""
        parts = (self.name, self.description, *self.capabilities, *self.params, *self.outputs)
        return " ".join(part.replace("_", " ") for part in parts if part)

    def named(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call with those that stand by place ("0", "1", ...) under their parameters' names."""
        places = (*self.inputs, *self.params)
        if not any(name.isdecimal() and int(name) < len(places) for name in arguments):
            return arguments
        return {
            places[int(name)] if name.isdecimal() and int(name) < len(places) else name: value
            for name, value in arguments.items()
        }


class Registry(Struct, frozen=True, dict=True):
    """The tools there are, by name."""

    tools: tuple[RegisteredTool, ...]

    @cached_property
    def _by_name(self) -> dict[str, RegisteredTool]:
        return {tool.name: tool for tool in self.tools}

    def get(self, name: str) -> RegisteredTool | None:
        """The tool of this name, or None."""
        return self._by_name.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """In the order of the file."""
        return tuple(tool.name for tool in self.tools)

    @cached_property
    def digest(self) -> str:
        """A hash of everything the registry says: 32 hex digits. An index made for another one is stale."""
        return blake2b(msgspec.json.encode(self.tools, order="deterministic"), digest_size=16).hexdigest()


class Need(Struct, frozen=True, forbid_unknown_fields=True):
    """What a step must be able to do to serve a requirement that is more than a label."""

    capabilities: tuple[str, ...]
    """One of them is enough."""
    parameters: tuple[str, ...] = ()
    """Parameters that may name the columns asked for; together they must hold all of them."""
    prepare: tuple[str, ...] = ()
    """Capabilities of a step that has to come as well, unless the column has its type already."""


class CapabilityMapping(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """Requirement -> capabilities that serve it; a version, so that two results can be told apart."""

    version: int
    analysis: dict[str, tuple[str, ...]]
    """Label -> alternatives. The labels are a closed set: there are no others."""
    outputs: dict[str, tuple[str, ...]]
    group_by: Need
    time: Need
    metrics: Need
    aliases: dict[str, tuple[str, ...]] = {}
    """Capability or tool name -> the capabilities it also is."""
    derived: dict[str, tuple[str, ...]] = {}
    """Capability -> the capabilities that together make it."""
    core: tuple[str, ...] = ()
    """Capabilities that some tool of every registry must have."""
    safety: tuple[str, ...] = ()
    """Tools that are offered whatever the question."""
    plots: tuple[str, ...] = ()
    """Capabilities of steps that draw: they come after the step that groups."""
    infrastructure: tuple[str, ...] = ()
    """Capabilities that serve no requirement themselves: such a step counts where a step that serves one needs it."""

    def capabilities(self, tool: str, registry: Registry) -> frozenset[str]:
        """Everything a tool can do: what it says, what its name and capabilities are also called, what follows."""
        registered = registry.get(tool)
        known = {tool, *(registered.capabilities if registered else ())}
        while True:
            more = {other for one in known for other in self.aliases.get(one, ())}
            more |= {name for name, parts in self.derived.items() if known.issuperset(parts)}
            if more <= known:
                return frozenset(known)
            known |= more

    @property
    def needed(self) -> frozenset[str]:
        """Every capability some requirement may need."""
        needs = (self.group_by, self.time, self.metrics)
        listed = (*self.analysis.values(), *self.outputs.values(), *((*n.capabilities, *n.prepare) for n in needs))
        return frozenset(capability for several in listed for capability in several)


def load_mapping(path: str | Path | None = None) -> CapabilityMapping:
    """The mapping in a TOML or JSON file; ours, for data analysis, when None. Raises `InputError`."""
    if path is None:
        return msgspec.toml.decode(files("gpa.plans").joinpath(_MAPPING).read_bytes(), type=CapabilityMapping)
    path = Path(path).expanduser()
    try:
        return msgspec.convert(read_value(path, "JSON or TOML"), CapabilityMapping)
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: expected a capability mapping: {error}") from error


def load_registry(path: str | Path) -> Registry:
    """The tools in a TOML or JSON file: a list, or an object or table with `tools`.

    Raises:
        InputError: it cannot be read, or two tools have one name.
    """
    path = Path(path).expanduser()
    value = read_value(path, "JSON or TOML")
    listed = value.get("tools", value.get("tool")) if isinstance(value, dict) else value
    if isinstance(listed, dict):  # by name
        listed = [{"name": name, **about} if isinstance(about, dict) else about for name, about in listed.items()]
    try:
        tools = msgspec.convert(listed, tuple[RegisteredTool, ...])
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: expected a list of tools: {error}") from error
    seen: set[str] = set()
    for tool in tools:
        if tool.name in seen:
            raise InputError(f"{path}: expected a name for each tool, found {found(tool.name)} twice")
        seen.add(tool.name)
    return Registry(tools)


def lint(registry: Registry, mapping: CapabilityMapping) -> tuple[str, ...]:
    """What does not fit together: labels nothing serves, capabilities nobody has, names nobody knows. Empty is good."""
    owned = {one for tool in registry.tools for one in mapping.capabilities(tool.name, registry)}
    return (
        *_unserved(mapping, owned),
        *(f"core capability {one!r}: no tool has it" for one in mapping.core if one not in owned),
        *(f"safety tool {one!r}: not in the registry" for one in mapping.safety if registry.get(one) is None),
        *_unknown(registry, mapping),
    )


def _unserved(mapping: CapabilityMapping, owned: Collection[str]) -> Iterator[str]:
    labelled: Iterable[tuple[str, Iterable[str]]] = (
        *((f"analysis.{label}", alternatives) for label, alternatives in mapping.analysis.items()),
        *((f"outputs.{label}", alternatives) for label, alternatives in mapping.outputs.items()),
        ("group_by", mapping.group_by.capabilities),
        ("time", mapping.time.capabilities),
        ("metrics", mapping.metrics.capabilities),
    )
    for label, alternatives in labelled:
        listed = tuple(alternatives)
        if not listed:
            yield f"{label}: expected capabilities that serve it, found none"
        elif not any(one in owned for one in listed):
            yield f"{label}: no tool has any of {', '.join(listed)}"


def _unknown(registry: Registry, mapping: CapabilityMapping) -> Iterator[str]:
    """Capabilities that serve nothing: often a spelling."""
    used = {*mapping.needed, *mapping.core, *mapping.plots, *mapping.infrastructure}
    used |= {*mapping.aliases, *registry.names}
    used |= {part for parts in mapping.derived.values() for part in parts}
    for tool in registry.tools:
        if not tool.capabilities:
            yield f"tool {tool.name!r}: expected capabilities, found none"
        reached = mapping.capabilities(tool.name, registry)
        for one in tool.capabilities:
            if one not in used and not reached & mapping.needed:
                yield f"tool {tool.name!r}: capability {one!r} serves no requirement{meant(one, sorted(used))}"


def unowned(registry: Registry, mapping: CapabilityMapping) -> tuple[str, ...]:
    """Capabilities that would serve a requirement and that no tool has: alternatives nobody can take yet."""
    owned = {one for tool in registry.tools for one in mapping.capabilities(tool.name, registry)}
    return tuple(sorted(mapping.needed - owned))


def changed_without_version(old: CapabilityMapping, new: CapabilityMapping) -> bool:
    """Whether the mapping says something else than before under the same version: results of both would look alike."""
    return old != new and old.version == new.version
