"""What LLM judges make of a trace: a result a dimension and sample, by rubrics, notes, examples and checks."""

from __future__ import annotations

import json
from pathlib import Path

from gpa.evaluation import evaluate
from gpa.judges.model import ScriptedModel
from gpa.judges.verdict import DIMENSIONS, Verdict
from gpa.judging import Judging
from tests.judges.checks.transcripts import call, llm, said, tool, transcript
from tests.judges.replies import RUN, answer, finding, reply

ALL = tuple(DIMENSIONS)


def test_a_model_judges_every_dimension_in_place_of_the_checks() -> None:
    script = {code: reply(finding(), score=1) for code in ALL} | {"PA": reply(score=None, not_applicable="no plan")}
    evaluation = evaluate(RUN, model=ScriptedModel(script))
    assert [(one.judge, one.type, one.model) for one in evaluation.results] == [
        (code, "not_applicable" if code == "PA" else "verdict", "scripted/model") for code in ALL
    ]
    assert {finding.span_ids for one in evaluation.results if isinstance(one, Verdict) for finding in one.findings} == {
        ("span3",)
    }
    assert evaluation.spending is not None
    assert (evaluation.spending.paid, evaluation.spending.unpriced) == (7, 7)


def test_samples_are_results_of_their_own_in_order() -> None:
    script = {f"{RUN.trace_id}/TC/{sample}": reply(score=sample) for sample in range(3)}
    evaluation = evaluate(RUN, model=ScriptedModel(script), dimensions=["TC"], judging=Judging(samples=3))
    assert [(one.sample, one.score) for one in evaluation.results if isinstance(one, Verdict)] == [
        (0, 0),
        (1, 1),
        (2, 2),
    ]


def test_one_request_fills_all_verdicts_in_single_mode() -> None:
    model = ScriptedModel({"all": json.dumps({code: answer(score=3) for code in ALL})})
    evaluation = evaluate(RUN, model=model, judging=Judging(mode="single"))
    assert len(model.requests) == 1
    assert [one.type for one in evaluation.results] == ["verdict"] * 7


def test_rubrics_of_ones_own_are_judged_and_summed_up_under_their_title(tmp_path: Path) -> None:
    (tmp_path / "tone.md").write_text("# Tone of Voice\n\nIs it kind?\n")
    (tmp_path / "TC.md").write_text("# Tools, our way\n\nAre they called?\n")
    model = ScriptedModel({code: reply(score=3) for code in ("TC", "tone")})
    judging = Judging(rubrics=tmp_path)
    evaluation = evaluate(RUN, model=model, dimensions=["tone", "TC"], judging=judging)
    assert [(row.dimension, row.name, row.mean) for row in evaluation.summary()] == [
        ("TC", "Tools, our way", 3.0),
        ("tone", "Tone of Voice", 3.0),
    ]
    assert any("Is it kind?" in request.tail for request in model.requests)
    everything = ScriptedModel([reply()] * 8)
    assert len(evaluate(RUN, model=everything, judging=judging).results) == 8


def test_notes_and_examples_go_with_every_request(tmp_path: Path) -> None:
    notes, examples = tmp_path / "notes.md", tmp_path / "gold.jsonl"
    notes.write_text("Two agents share a notebook.")
    examples.write_text('{"evidence": "it is said", "description": "it is not"}\n')
    model = ScriptedModel([reply()] * 2)
    judging = Judging(agent_notes=notes, examples=examples)
    evaluate(RUN, model=model, dimensions=["LC", "EE"], judging=judging)
    assert all("Two agents share a notebook." in request.system for request in model.requests)
    assert all("it is not" in request.tail for request in model.requests)


def test_findings_of_the_checks_are_confirmed_or_rejected_and_told_apart() -> None:
    bad = call("search", {"query": "q", "page": 1}, "c1")
    steps = [llm(bad), tool("search", {}, error="TypeError: no argument 'page'", call_id="c1")] * 3
    run = transcript(*steps, llm(said("The search failed.")))
    leads = [{"id": "c1", "decision": "confirm", "reason": "so it is"}]
    script = {"TC": reply(leads=leads)}
    evaluation = evaluate(run, model=ScriptedModel(script), dimensions=["TC"], judging=Judging(with_checks=True))
    [verdict] = evaluation.results
    assert isinstance(verdict, Verdict)
    assert [finding.check is not None for finding in verdict.findings] == [True]


def test_secrets_do_not_leave_unless_told_to_and_are_counted() -> None:
    run = transcript(llm(said("Write to jane.doe@example.com.")))
    for redact, sent, counts in ((True, False, (("E-mail Address", 1),)), (False, True, ())):
        model = ScriptedModel([reply()])
        evaluation = evaluate(run, model=model, dimensions=["LC"], judging=Judging(redact=redact))
        assert ("jane.doe@example.com" in model.requests[0].prefix) is sent
        assert evaluation.spending is not None
        assert evaluation.spending.redactions == counts
