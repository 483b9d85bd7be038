"""Registry and mapping: what tools can do, what does not fit together, and that our own do.

This is the lint of the registry that comes with the project: `make test` runs it.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import msgspec
import pytest

from gpa.errors import InputError
from gpa.plans.capabilities import (
    RegisteredTool,
    Registry,
    changed_without_version,
    lint,
    load_mapping,
    load_registry,
    unowned,
)
from gpa.plans.narrowing import Narrowed
from gpa.plans.offering import Offer, Round, unmet
from tests.plans.revenue import MAPPING, REGISTRY


def test_our_registry_and_mapping_fit_together() -> None:
    assert lint(REGISTRY, MAPPING) == ()


def test_lint_names_what_does_not_fit() -> None:
    registry = Registry((RegisteredTool("aggregate", ("aggregate",)), RegisteredTool("odd", ("agregate",))))
    said = lint(registry, MAPPING)
    assert any(line.startswith("analysis.trend: no tool has any of time_series_plot") for line in said)
    assert "core capability 'plot': no tool has it" in said
    assert "safety tool 'plot_line': not in the registry" in said
    assert "tool 'odd': capability 'agregate' serves no requirement (did you mean 'aggregate'?)" in said


def test_capabilities_follow_from_one_another() -> None:
    assert "time_series_plot" in MAPPING.capabilities("plot_line", REGISTRY)
    assert "summary_stats" in MAPPING.capabilities("compute_summary_stats", Registry(()))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param('[{"name": "a"}, {"name": "a"}]', "found 'a' twice", id="twice"),
        pytest.param('[{"title": "a"}]', "expected a list of tools", id="field"),
        pytest.param("{", "expected JSON or TOML", id="cut"),
    ],
)
def test_a_registry_that_is_none_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "tools.json"
    path.write_text(text)
    with pytest.raises(InputError, match=f"tools.json: .*{said}"):
        load_registry(path)


def test_a_registry_of_tools_by_name_is_read(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text('{"tools": {"a": {"capabilities": ["plot"]}, "b": {}}}')
    assert load_registry(path).names == ("a", "b")


def test_missed_capabilities_are_those_no_offered_tool_has() -> None:
    needed = (("aggregate",), ("time_series_plot",), ("anomaly_detection",))
    missing = unmet(needed, ("aggregate", "plot_line"), REGISTRY, MAPPING)
    assert missing == (("anomaly_detection",),)
    narrowed = Narrowed((), (), (), (), ())
    assert Offer(narrowed, needed, missing, (Round(10, missing),), ()).miss_rate == 1 / 3
    assert Offer(narrowed, (), (), (Round(10, ()),), ()).miss_rate == 0.0


VERSIONS = {1: "13a534b8a6edbb28"}
"""Version of our mapping -> a hash of what it says."""


def test_our_mapping_says_something_else_only_under_another_version() -> None:
    """Coverage of two runs is compared by the version: raise it in capabilities.toml, and add its hash here."""
    assert digest_of(MAPPING.version) == VERSIONS[MAPPING.version]


def digest_of(version: int) -> str:
    assert version == MAPPING.version
    return blake2b(msgspec.json.encode(MAPPING, order="deterministic"), digest_size=8).hexdigest()


def test_a_mapping_that_changed_needs_another_version() -> None:
    from msgspec.structs import replace

    other = replace(MAPPING, core=())
    assert changed_without_version(MAPPING, other)
    assert not changed_without_version(MAPPING, replace(other, version=MAPPING.version + 1))
    assert not changed_without_version(MAPPING, load_mapping())


def test_alternatives_that_no_tool_has_are_named() -> None:
    assert unowned(REGISTRY, MAPPING) == ("correlation_plot", "distribution_stats", "time_series_features")


def test_aliases_and_derivations_make_the_names_of_the_sample_tools_fit() -> None:
    assert MAPPING.capabilities("save_dataframe", REGISTRY) >= {"save", "summary_stats"}
    assert MAPPING.capabilities("plot_bar", REGISTRY).isdisjoint({"time_series_plot"})
