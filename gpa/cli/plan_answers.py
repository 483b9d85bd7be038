"""`gpa plan answers`: which of several systems answered questions best, end to end."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from gpa.cli.figures import forms, write_tables
from gpa.cli.options import Grouped
from gpa.cli.plan_model import Opened, model_options, only_written, taken, with_model
from gpa.cli.plan_triples import objects
from gpa.errors import InputError, UsageError

if TYPE_CHECKING:
    from gpa.judges.answer_judge import Answer, ScoredAnswers
    from gpa.tables import Table

SHOWN = 40


class Question(NamedTuple):
    """One question: the answers to it, their scores as far as they are known, and what people decided."""

    id: str
    query: str
    answers: dict[str, str]
    scores: dict[str, Answer] | None
    people: str | None


@click.command(name="answers", cls=Grouped)
@click.argument("file", metavar="FILE")
@click.option("--all", "everything", is_flag=True, help="Show the decision of every question, however many.")
@model_options
@forms
@click.pass_context
def command(ctx: click.Context, /, *, file: str, everything: bool, **options: Any) -> None:
    """Say which system answered each question of FILE best, and how often each one won.

    FILE is JSON Lines of {"id", "query", "answers": {"R1": "...", "R2": "..."}}, scored by --model, or with "scores":
    {"R1": [validity, consistency, completeness, redundancy], ...} already. A "decision" by people is compared with.

    \b
    Examples:
      gpa plan answers answers.jsonl --model anthropic/claude-sonnet-5-5
      gpa plan answers scored.jsonl --json

    \b
    Exit codes:
      0 decided    2 usage or input error    3 something could not be judged
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    asking = taken(options)
    questions = [_question(value, place) for value, place in objects(file)]
    systems = list(dict.fromkeys(name for one in questions for name in (*one.answers, *(one.scores or {}))))
    open_ones = [one for one in questions if one.scores is None]
    if open_ones and asking["model"] is None:
        raise UsageError(f"{file}: {len(open_ones)} questions have no scores; add --model to have them judged")
    judged = with_model(asking, lambda opened: _judged(opened, open_ones)) or []
    if only_written(asking):
        return
    said = {one.id: found for one, found in zip(open_ones, judged, strict=True)}
    rows, tables = _decided(questions, systems, said)
    failed = sum("failed" in row for row in rows)
    notes = [f"{len(questions)} questions, {len(systems)} systems: {', '.join(systems)}"]
    if failed:
        notes.append(f"{failed} could not be judged and are in no rate.")
    write_tables(
        tables,
        notes,
        shown=lambda table: everything or table.name != "decisions" or len(rows) <= SHOWN,
        more={"questions": rows},
        **options,
    )
    ctx.exit(3 if failed else 0)


def _question(value: dict[str, Any], place: str) -> Question:
    from pydantic import ValidationError

    from gpa.judges.answer_judge import Answer

    answers, scores = value.get("answers"), value.get("scores")
    if not isinstance(scores, dict) and not (isinstance(answers, dict) and answers):
        raise InputError(
            f'{place}: expected "answers" or "scores" by system, found only {", ".join(value) or "nothing"}'
        )
    found: dict[str, Answer] | None = None
    if isinstance(scores, dict):
        try:
            found = {
                str(name): Answer.of(*one) if isinstance(one, list) else Answer.model_validate(one)
                for name, one in scores.items()
            }
        except (ValidationError, TypeError) as error:
            form = "validity 0 or 1, consistency 0 or 1, completeness 1 to 7, redundancy 1 to 7"
            raise InputError(f"{place}: scores: expected for each system {form}, found {scores}") from error
    texts = {str(name): str(text) for name, text in answers.items()} if isinstance(answers, dict) else {}
    people = value.get("decision")
    identity = str(value.get("id", value.get("query_id", place)))
    return Question(identity, str(value.get("query", "")), texts, found, people if isinstance(people, str) else None)


async def _judged(opened: Opened, questions: Sequence[Question]) -> list[ScoredAnswers]:
    from gpa.judges.answer_judge import AnswerJudge

    judge = AnswerJudge(opened.client, clean=opened.clean, max_tokens=opened.max_tokens, effort=opened.effort)
    return await asyncio.gather(*(judge.score(one.id, one.query, one.answers) for one in questions))


def _decided(
    questions: Sequence[Question], systems: Sequence[str], said: dict[str, ScoredAnswers]
) -> tuple[list[dict[str, Any]], list[Table]]:
    from gpa.agreement import rate
    from gpa.answers import canonical, decision, win_rates
    from gpa.tables import Table

    rows: list[dict[str, Any]] = []
    pairs: list[tuple[str, str]] = []
    for one in questions:
        found = said.get(one.id)
        scores = one.scores if found is None else found.answers
        row: dict[str, Any] = {"id": one.id, "query": one.query}
        if scores is None:
            rows.append({**row, "failed": found.failed if found else ""})
            continue
        row |= {"decision": decision(scores), "scores": {name: score.model_dump() for name, score in scores.items()}}
        if found is not None:
            row["rationale"] = found.rationale
        if one.people is not None:
            row["people"] = canonical(one.people, list(scores)) or one.people
            pairs.append((row["people"], row["decision"]))
        rows.append(row)
    made = [row["decision"] for row in rows if "decision" in row]
    rates = tuple(win_rates(made, systems).items())
    counts = tuple((name, rate(count, len(made))) for name, count in Counter(made).most_common())
    tables = [
        Table(
            "win_rates", "Win rates: alone or shared", ("system", "questions"), rates, ("They need not add up to 1.",)
        ),
        Table("counts", "Decisions", ("decision", "questions"), counts),
        Table(
            "decisions",
            "Questions",
            ("question", "decision"),
            tuple((row["id"], row["decision"]) for row in rows if "decision" in row),
        ),
    ]
    if pairs:
        tables.append(_with_people(pairs))
    return rows, tables


def _with_people(pairs: Sequence[tuple[str, str]]) -> Table:
    from gpa.agreement import cohen_kappa, confusion, rate
    from gpa.tables import Table

    names = sorted({name for pair in pairs for name in pair})
    counts = confusion([(names.index(people), names.index(ours)) for people, ours in pairs], len(names))
    same = sum(people == ours for people, ours in pairs)
    rows = (("same decision", rate(same, len(pairs))), ("kappa", cohen_kappa(counts)))
    return Table("with_people", f"Agreement with people, over {len(pairs)} questions", ("statistic", "value"), rows)
