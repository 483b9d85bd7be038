"""What the tests of requirements share: the registry, the mapping, and the question of the method's walkthrough."""

from __future__ import annotations

from pathlib import Path

from gpa.plans.capabilities import load_mapping, load_registry
from gpa.plans.plan import PlanStep
from gpa.plans.requirements import Requirements, TimeAxis

TOOLS = Path(__file__).parents[2] / "fixtures/tools/data_analysis.toml"
REGISTRY = load_registry(TOOLS)
MAPPING = load_mapping()
QUESTION = "get revenue totals by region and product type over time"
ASKED = Requirements(
    metrics=("revenue",),
    group_by=("region", "product_category"),
    time=TimeAxis("date"),
    analysis=("total", "compare", "trend"),
    outputs=("chart", "table"),
)
READ = {
    "metrics": ["revenue"],
    "group_by": ["region", "product_category"],
    "time": {"column": "date", "grain": "unknown"},
    "analysis": ["total", "compare", "trend"],
    "outputs": ["chart", "table"],
    "constraints": [],
}
"""`ASKED` as a model or a file writes it."""
COLUMNS = {"date": "temporal", "revenue": "numeric", "region": "categorical", "product_category": "categorical"}
PARSE = PlanStep("1", "parse_datetime", arguments={"column": "date"})
GROUP = PlanStep(
    "2",
    "aggregate",
    arguments={"group_by": ["date", "region", "product_category"], "agg_func": "sum", "metrics": ["revenue"]},
)
LINE = PlanStep("3", "plot_line", arguments={"x": "date", "y": "revenue", "color": "product_category"})
STATS = PlanStep("4", "compute_summary_stats")
TEMPLATE = ("parse_datetime", "aggregate", "plot_line", "compute_summary_stats")
