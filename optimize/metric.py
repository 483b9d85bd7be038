"""A judge's result against the errors people found, as a score and as advice; pure, and without DSPy.

The score is recall, charged for findings that match nothing. The advice goes to the model that rewrites the rubric, and
through its words into every later judgement of other runs. So it speaks of kinds of sign (what sort of step, what sort
of evidence, which category) and of the judge's own findings by their numbers; it holds no text of an error that people
found, no name or id of a trace, and does not let on that such errors are known: the judge works without them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

from gpa.ingest.transcript import Step, Transcript
from gpa.judges.gold import GoldError
from gpa.judges.matching import Fuzzy, Match, Matcher
from gpa.judges.rubrics import built_in
from gpa.judges.verdict import CATEGORIES, AnyResult, Failure, Finding, NotApplicable, Verdict

if TYPE_CHECKING:
    from gpa.judges.meta import Decision

CHARGE = 0.1
"""Taken off for each finding that matches nothing: less than any trace's single error is worth up to ten errors."""
MOST_CHARGED = 0.5
"""At the most: gold is never complete, and to catch everything is worth more than to be silent."""
FAILURE_SCORE = 0.0
SHARED_WORDS = 4
"""Words in a row that advice must not have in common with the text of a known error."""
MOST_MISSED = 8
"""Missed errors that are told of one by one."""

_EVEN = 2.5
"""Mean squared difference of two independent scores spread evenly over 0-3: agreement 0 is what chance gives."""

_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "an error message",
        re.compile(r"traceback|exception|error:|errno|failed|not found|invalid|denied", re.IGNORECASE),
    ),
    ("code", re.compile(r"```|\bdef \w|\bimport \w|\breturn\b|\w\(.*\)\s*$|[{};]\s*$", re.MULTILINE)),
    ("structured data such as arguments", re.compile(r"""^\s*[\[{]|["']\w+["']\s*:""", re.MULTILINE)),
    ("an address or path", re.compile(r"https?://|(?:/[\w.-]+){2,}")),
    ("prose with figures", re.compile(r"\d")),
)
_PROSE = "prose"
_NAME = re.compile(r"(?<=[\w,;] )[A-Z]\w{2,}")
"""A word with a capital in the middle of a sentence."""
_TOKEN = re.compile(r"[^\s\"'`(),;<>\[\]{}]+")
_TELLING = re.compile(r"\d|\w[_/@\\.:]\w")


@dataclass(frozen=True)
class Scored:
    """What one result, or several of one trace, are worth."""

    score: float
    """0-1."""
    feedback: str
    objectives: dict[str, float] = field(default_factory=dict)
    caught: int = 0
    errors: int = 0
    """Known errors of the dimension."""
    localised: int = 0
    groundless: int = 0
    failed: int = 0


def scored(
    result: AnyResult,
    errors: Sequence[GoldError],
    matcher: Matcher,
    *,
    transcript: Transcript | None = None,
    decisions: Mapping[str, Decision] | None = None,
) -> Scored:
    """The worth of a result of one dimension.

    Args:
        result: What a judge gave.
        errors: All errors people found in the trace, those of other dimensions too: a finding that matches one of them
            is not groundless.
        matcher: Says which of them it names. Where it cannot (a meta-judge that failed), span, category and words do.
        transcript: Lets the advice speak of the kind of step.
        decisions: What a meta-judge said of each error, for its advice on what to look for.
    """
    own = [number for number, error in enumerate(errors) if result.judge in error.dimensions]
    if isinstance(result, Failure):
        return _failed(f"could not be judged ({result.error_type}): {result.message}", len(own))
    if isinstance(result, NotApplicable):
        return _not_applicable(errors, own, transcript)
    matches = matcher.match(errors, result)
    if matches is None:  # the scorer's failure says nothing of the rubric, and a search needs a figure for every trial
        return scored(result, errors, Fuzzy(), transcript=transcript)
    hits = {match.error: match for match in matches if match.error in own}
    groundless = _groundless(result, errors, matches, own_only=matcher.own_dimension_only)
    localised = sum(match.localised for match in hits.values())
    # No errors, nothing to miss; what then counts is not to invent any.
    recall = len(hits) / len(own) if own else 1.0
    found = len(result.findings)
    advice = [
        *_missed([errors[number] for number in own if number not in hits], transcript, decisions or {}),
        *_groundless_advice(groundless, result.findings),
        *_misplaced([match for match in hits.values() if not match.localised], errors, result, transcript),
    ]
    return Scored(
        score=max(0.0, recall - min(MOST_CHARGED, CHARGE * len(groundless))),
        feedback="\n".join(advice) or "Nothing was missed; every finding has ground and the right step. Keep this.",
        objectives={
            "recall": recall,
            "precision": (found - len(groundless)) / found if found else 1.0,
            "localisation": localised / len(own) if own else 1.0,
        },
        caught=len(hits),
        errors=len(own),
        localised=localised,
        groundless=len(groundless),
    )


def agreeing(samples: Sequence[Scored], scores: Sequence[int | None]) -> Scored:
    """Several samples of one trace, worth half what they catch and half how well their scores agree.

    Agreement is 1 less the mean squared difference of two scores over what chance would give: Krippendorff's alpha at
    the interval level with its expected disagreement fixed, so that it exists for one trace alone and a judge cannot
    win by giving every trace the same score without also catching what it should. A sample without a score (failed, not
    applicable) disagrees with every other one.
    """
    pairs = list(combinations(scores, 2))
    apart = sum(_apart(one, other) for one, other in pairs) / len(pairs) if pairs else 0.0
    consistency = max(0.0, 1.0 - apart)
    merged = pooled(samples)
    said = [str(score) if score is not None else "none" for score in scores]
    advice = []
    if apart:
        advice.append(
            f"The same run was judged {len(scores)} times and got the scores {', '.join(said)}. Say more exactly"
            " what separates neighbouring scores, and when a behaviour counts as an error, so that the same run gets"
            " the same score each time."
        )
    return Scored(
        score=(merged.score + consistency) / 2,
        feedback="\n".join([*advice, merged.feedback]),
        objectives={**merged.objectives, "consistency": consistency},
        caught=merged.caught,
        errors=merged.errors,
        localised=merged.localised,
        groundless=merged.groundless,
        failed=merged.failed,
    )


def pooled(parts: Sequence[Scored]) -> Scored:
    """Several dimensions or samples of one trace as one: mean score and objectives, summed counts, advice in turn."""
    if len(parts) == 1:
        return parts[0]
    names = dict.fromkeys(name for part in parts for name in part.objectives)
    return Scored(
        score=_mean([part.score for part in parts]),
        feedback="\n".join(dict.fromkeys(part.feedback for part in parts)),
        objectives={name: _mean([part.objectives.get(name, 0.0) for part in parts]) for name in names},
        caught=sum(part.caught for part in parts),
        errors=sum(part.errors for part in parts),
        localised=sum(part.localised for part in parts),
        groundless=sum(part.groundless for part in parts),
        failed=sum(part.failed for part in parts),
    )


def transferable(advice: str, error: GoldError) -> bool:
    """Whether advice shares no passage, figure or id with the text of an error that people found."""
    known = f"{error.evidence}\n{error.description}"
    told, source = _words(advice), _words(known)
    runs = {tuple(source[at : at + SHARED_WORDS]) for at in range(len(source) - SHARED_WORDS + 1)}
    if any(tuple(told[at : at + SHARED_WORDS]) in runs for at in range(len(told) - SHARED_WORDS + 1)):
        return False
    ids = {error.trace_id, error.span_id, error.id}
    secrets = {token.strip(".:").lower() for token in _TOKEN.findall(known) if _TELLING.search(token)} | ids
    names = set(_NAME.findall(known)) & set(_NAME.findall(advice))
    return not names and not any(secret and secret in advice.lower() for secret in secrets)


def _failed(why: str, errors: int) -> Scored:
    objectives = dict.fromkeys(("recall", "precision", "localisation"), 0.0)
    return Scored(FAILURE_SCORE, f"There is no judgement: it {why}", objectives, errors=errors, failed=1)


def _not_applicable(errors: Sequence[GoldError], own: Sequence[int], transcript: Transcript | None) -> Scored:
    """Right where there is nothing to find, a miss of everything where there is."""
    recall = 0.0 if own else 1.0
    advice = ["The dimension was said not to apply, although there is something to judge in this run."] if own else []
    advice += _missed([errors[number] for number in own], transcript, {})
    return Scored(
        score=recall,
        feedback="\n".join(advice) or "The dimension was rightly said not to apply. Keep this.",
        objectives={"recall": recall, "precision": 1.0, "localisation": recall},
        errors=len(own),
    )


def _groundless(
    verdict: Verdict, errors: Sequence[GoldError], matches: Sequence[Match], *, own_only: bool
) -> tuple[int, ...]:
    """Numbers of the findings that match no known error, of whichever dimension."""
    named = {match.finding for match in matches}
    if own_only:  # a meta-judge is asked about its own dimension alone; what is another's business has ground too
        named |= {match.finding for match in Fuzzy().match(errors, verdict)}
    return tuple(number for number in range(len(verdict.findings)) if number not in named)


def _missed(errors: Sequence[GoldError], transcript: Transcript | None, decisions: Mapping[str, Decision]) -> list[str]:
    kinds = Counter(f"{_kind(error.category)}; the sign is {_sign(error, transcript)}" for error in errors)
    advice = [
        f"Missed{f' {count} times' if count > 1 else ''}: {kind}." for kind, count in kinds.most_common(MOST_MISSED)
    ]
    if len(kinds) > MOST_MISSED:
        advice.append(f"Missed {len(errors)} such problems in all.")
    for error in errors[:MOST_MISSED]:
        hint = decisions[error.id].look_for.strip() if error.id in decisions else ""
        if hint and transferable(hint, error):
            advice.append(f"What to look for: {hint}")
    return list(dict.fromkeys(advice))


def _kind(category: str) -> str:
    """A category and what it stands for, as judges are told."""
    meaning = _meanings().get(category)
    return f"{category} ({meaning})" if meaning else category


@cache
def _meanings() -> dict[str, str]:
    lines = re.findall(r"^- ([^:\n]+): (.+)$", built_in("frame"), re.MULTILINE)
    return {name: meaning for name, meaning in lines if name in CATEGORIES}


def _sign(error: GoldError, transcript: Transcript | None) -> str:
    """Which sort of evidence in which sort of step shows an error, in words that say nothing of this trace."""
    form = next((name for name, pattern in _FORMS if pattern.search(error.evidence)), _PROSE)
    step = _step_of(error.span_id, transcript)
    if step is None:
        return f"{form} somewhere in the run"
    assert transcript is not None  # a step was found in it
    where = f"{_article(step.kind)} {step.kind} step"
    if step.error or step.status == "error":
        where += " that ended with an error"
    if step.kind == "llm" and not step.output:
        where += " without output"
    position = transcript.steps.index(step) / max(1, len(transcript.steps) - 1)
    part = "early in" if position < 1 / 3 else "late in" if position > 2 / 3 else "in the middle of"
    return f"{form} in {where}, {part} the run"


def _groundless_advice(groundless: Sequence[int], findings: Sequence[Finding]) -> list[str]:
    if not groundless:
        return []
    numbers = ", ".join(str(number + 1) for number in groundless)
    unfounded = sum(not findings[number].grounded for number in groundless)
    kinds = Counter(findings[number].category for number in groundless)
    named = ", ".join(f"{category} ({count})" if count > 1 else category for category, count in kinds.most_common())
    quotes = f" The quotes of {unfounded} of them do not stand in the run." if unfounded else ""
    return [
        (
            f"Without ground: finding {numbers} ({named}). What they report is no error an engineer would act on, or is"
            f" not this dimension's business.{quotes} Say what must be there before such a thing is reported."
        )
    ]


def _misplaced(
    matches: Sequence[Match], errors: Sequence[GoldError], verdict: Verdict, transcript: Transcript | None
) -> list[str]:
    said: Counter[str] = Counter()
    for match in matches:
        if match.finding is None:
            said["A problem is named in the rationale only, and not reported as a finding with its step."] += 1
            continue
        finding = verdict.findings[match.finding]
        right, cited = _step_of(errors[match.error].span_id, transcript), _cited(finding, transcript)
        if not finding.span_ids:
            said["A finding is right but cites no step."] += 1
        elif right is None or cited is None:
            said["A finding is right but cites another step than the one where the mistake is made."] += 1
        else:
            assert transcript is not None
            after = transcript.steps.index(cited) > transcript.steps.index(right)
            said[
                f"A finding is right but cites {_article(cited.kind)} {cited.kind} step"
                f" {'after' if after else 'before'} the {right.kind} step where the mistake is made."
            ] += 1
    return [f"Wrong step{f' ({count} times)' if count > 1 else ''}: {what}" for what, count in said.most_common()]


def _cited(finding: Finding, transcript: Transcript | None) -> Step | None:
    return next((step for span in finding.span_ids if (step := _step_of(span, transcript)) is not None), None)


def _step_of(span_id: str, transcript: Transcript | None) -> Step | None:
    if transcript is None or not span_id:
        return None
    return next((step for step in transcript.steps if span_id in step.span_ids), None)


def _apart(one: int | None, other: int | None) -> float:
    if one is None or other is None:
        return 0.0 if one is other else 1.0
    return (one - other) ** 2 / _EVEN


def _article(kind: str) -> str:
    return "an" if kind[:1] in "aeiol" else "a"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
