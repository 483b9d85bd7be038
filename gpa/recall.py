"""Results of any source compared with gold errors, one by one.

Each judgement is kept as a few numbers (`Judged`), so that hundreds of thousands of verdicts fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from gpa.errors import UsageError
from gpa.evaluation import Evaluation
from gpa.ingest.transcript import Transcript
from gpa.judges.gold import Gold, GoldError
from gpa.judges.matching import Match, Matcher, Place, matcher_named, nearness, places
from gpa.judges.result_lines import read_lines
from gpa.judges.verdict import AnyResult, Verdict
from gpa.scored import NEAR_STEPS, Judged, Scored

Results = Evaluation | str | Path | Iterable[AnyResult]
"""Where results can come from: an evaluation, the path of a store or of result lines, or the results themselves."""


def score(
    evaluation: Results,
    gold: Gold,
    matcher: Matcher | str = "fuzzy",
    *,
    sample: int | None = None,
    model: str | None = None,
    transcripts: Iterable[Transcript] = (),
    near_steps: int = NEAR_STEPS,
    keep_rationales: bool = False,
) -> Scored:
    """The evaluation against gold errors.

    Args:
        evaluation: An `Evaluation`, results, or the path of a store or of result lines (read one by one).
        gold: What `load_gold` gives.
        matcher: `"exact"`, `"fuzzy"`, or a matcher such as `gpa.judges.meta.MetaJudge`.
        sample: The repetition that tables other than the stability are over; the first one when None.
        model: Only results of this model; needed when an evaluation holds several for the same judge and trace.
        transcripts: Give "within n steps" and "same agent" beside "localised".
        near_steps: That n.
        keep_rationales: Keep what the consistency of rationales is computed from.

    Raises:
        UsageError: An unknown matcher, or results of several models where one is needed.
    """
    chosen = matcher_named(matcher) if isinstance(matcher, str) else matcher
    where = {transcript.trace_id: places(transcript) for transcript in transcripts}
    scored = Scored(gold, chosen.name, chosen.own_dimension_only, near_steps=near_steps, with_places=bool(where))
    with opened(evaluation) as results:
        for result in results:
            if model is not None and result.model != model:
                continue
            by_trace = scored.judged[result.judge, result.sample]
            earlier = by_trace.get(result.trace_id)
            if earlier is not None:
                _same_model(earlier, result)
                scored.replaced += 1
            one = _judged(result, gold, chosen, where.get(result.trace_id, {}), near_steps)
            if keep_rationales and isinstance(result, Verdict):
                one = one._replace(rationale=result.rationale)
            by_trace[result.trace_id] = one
    if not scored.judged:
        raise UsageError("no results" + (f" of model {model!r}" if model else "") + " in the evaluation")
    scored.sample = min(scored.samples) if sample is None else sample
    if scored.sample not in scored.samples:
        raise UsageError(f"sample: expected one of {', '.join(map(str, scored.samples))}, found {sample}")
    return scored


@contextmanager
def opened(evaluation: Results) -> Iterator[Iterable[AnyResult]]:
    """The results of an evaluation, wherever it is kept."""
    if isinstance(evaluation, Evaluation):
        yield evaluation.results
    elif isinstance(evaluation, str | Path):
        from gpa.store import is_store, open_store

        if is_store(evaluation):
            with open_store(evaluation, must_exist=True) as store:
                yield store.results()
        else:
            yield read_lines(Path(evaluation).expanduser())
    else:
        yield evaluation


def _same_model(earlier: Judged, later: AnyResult) -> None:
    if earlier.model != later.model:
        names = ", ".join(sorted({earlier.model, later.model}))
        raise UsageError(
            f"judge {later.judge} has results of several models for trace {later.trace_id} ({names}):"
            " choose one (--model)"
        )


def _judged(result: AnyResult, gold: Gold, matcher: Matcher, where: Mapping[str, Place], near_steps: int) -> Judged:
    if not isinstance(result, Verdict):
        return Judged(result.type, result.model, result.rubric_hash)
    errors = gold.by_trace.get(result.trace_id)
    basic = Judged("verdict", result.model, result.rubric_hash, result.score, len(result.findings))
    if errors is None:
        return basic
    matches = matcher.match(errors, result)
    if matches is None:
        return basic._replace(kind="unmatched")
    near, same = _near(matches, errors, result, where, near_steps) if where else ((), ())
    own = {match.finding for match in matches if result.judge in errors[match.error].dimensions} - {None}
    return basic._replace(
        caught=tuple(match.error for match in matches),
        localised=tuple(match.error for match in matches if match.localised),
        near=near,
        same_agent=same,
        true_own=len(own),
        true_any=len({match.finding for match in matches} - {None}),
    )


def _near(
    matches: Sequence[Match], errors: Sequence[GoldError], verdict: Verdict, where: Mapping[str, Place], steps: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    near, same = [], []
    for match in matches:
        cited = verdict.findings[match.finding].span_ids if match.finding is not None else ()
        distance, agent = nearness(errors[match.error].span_id, cited, where)
        if distance is not None and distance <= steps:
            near.append(match.error)
        if agent:
            same.append(match.error)
    return tuple(near), tuple(same)
