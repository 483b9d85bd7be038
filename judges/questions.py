"""What judges are asked about a transcript: from rubrics, notes, examples and findings of checks to requests.

The same transcript, rubrics and model give the same requests on every run, whichever of the dimensions are asked for:
those alone decide where the prompt cache is marked, which is no part of a question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Literal, Protocol

import orjson
from pydantic import BaseModel, ConfigDict, Field

from gpa.ingest.render import shortened
from gpa.ingest.segments import outline
from gpa.ingest.tokens import count_text
from gpa.ingest.transcript import Transcript
from gpa.judges.case import Case, leads_of
from gpa.judges.examples import Example
from gpa.judges.model import Outcome, Request
from gpa.judges.model.request import CacheTtl, Effort
from gpa.judges.offered_tools import MAX_TOOLS, TOOLS_SHARE, narrowed
from gpa.judges.prompt import Lead, answer_schema, final_question, question, single_question, system_text
from gpa.judges.redact import redacted
from gpa.judges.rubrics import Rubric, digest
from gpa.judges.verdict import Finding

Mode = Literal["panel", "single"]

SLACK = 1.15
"""A transcript is cut into parts when its estimated tokens times this exceed the window: the estimate may be low."""
AGAIN_TOKENS = 8_000
"""Set aside for an answer that could not be read and goes back with the complaint."""
OUTLINE_TOKENS = 4_000
"""Of the outline that goes with the findings of a run read in parts."""
FINAL_EXCERPT = 600
"""Characters of a problem or quote that go with them."""
ALL = "all"
"""Name of the judge in requests that ask for every dimension."""

COMPLAINT = (
    "That could not be read: {wrong}. Give the whole answer again, as one JSON object in the form asked for and "
    "nothing else."
)
_SAMPLE_LEAD = Lead(
    id="c1", labels=("s1",), finding=Finding(span_ids=(), quote="", problem="", category="", severity="LOW")
)


class Asking(BaseModel):
    """How judges are asked; all that decides a verdict besides the transcript, the rubrics and the model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    frame: str
    """`load_frame(...)`."""
    notes: str = ""
    """About the agent's architecture, from its developers."""
    examples: tuple[Example, ...] = ()
    mode: Mode = "panel"
    with_checks: bool = False
    """Hand the findings of the checks to the judge, to confirm or reject."""
    max_tokens: int = 16_000
    """Of an answer, thinking included; a quarter of the model's window at the most."""
    effort: Effort | None = None
    cache_ttl: CacheTtl | None = "5m"
    max_tools: Annotated[int, Field(ge=1)] = MAX_TOOLS
    """Tools of one agent that are shown in full (`gpa.judges.offered_tools`)."""
    samples: Annotated[int, Field(ge=1, exclude=True)] = 1
    """Judges that ask alike in this run and share transcripts in the prompt cache. It decides no verdict, so it is no
    part of what is written down of how judges were asked."""


class Answering(Protocol):
    """What a judge needs of a model: `gpa.judges.model.Client`, or what stands before one."""

    @property
    def name(self) -> str:
        """`provider/model`."""

    @property
    def context_window(self) -> int:
        """Tokens of input and output together."""

    async def complete(self, request: Request) -> Outcome:
        """The answer, or why there is none."""

    def forget(self, request: Request) -> None:
        """Drop the kept answer to this request: it is none, and must not be served for ever."""


class Questions:
    """Makes the requests of one judge; everything in them is cleaned field by field before it is put together."""

    def __init__(
        self,
        model: Answering,
        rubrics: Mapping[str, Rubric],
        asking: Asking,
        *,
        sample: int = 0,
        clean: Callable[[str], str] | None = None,
    ) -> None:
        self.sample = sample
        self.single = asking.mode == "single"
        """Whether one question asks for every dimension."""
        self._model = model.name
        self._window = model.context_window
        self._rubrics = rubrics
        self._asking = asking
        self._clean = clean
        self._hashes: dict[str, str] = {}

    def hash(self, dimension: str) -> str:
        """16 hex digits over everything asked, whatever the transcript: frame, notes, rubric, examples, form."""
        if dimension not in self._hashes:
            asking, rubric = self._asking, self._rubrics[dimension]
            rubrics = tuple(self._rubrics.values()) if self.single else (rubric,)
            leads = {one.code: (_SAMPLE_LEAD,) for one in rubrics if asking.with_checks}
            schema = answer_schema(
                with_checks=asking.with_checks, codes=[one.code for one in rubrics] if self.single else ()
            )
            self._hashes[dimension] = digest(
                system_text(asking.frame, asking.notes),
                self._tail(rubrics, asking.examples, leads),
                final_question(rubric, "", (), with_checks=asking.with_checks),
                COMPLAINT,
                orjson.dumps(schema).decode(),
                asking.effort or "",
                # Left out where it is the default: what was judged before there was a choice is judged alike.
                *((f"{asking.max_tools} tools",) if asking.max_tools != MAX_TOOLS else ()),
            )
        return self._hashes[dimension]

    def case(self, transcript: Transcript, dimensions: Sequence[str]) -> Case:
        """The transcript as it is shown: redacted, with a choice of many tools, and cut to the model's window.

        What is asked for in all decides whether requests share it; an answer that is asked for again does not count.
        """
        shown = transcript if self._clean is None else redacted(transcript, self._clean)
        found = leads_of(transcript) if self._asking.with_checks else {}
        leads = {code: tuple(map(self._safe_lead, some)) for code, some in found.items()}
        room = self._room(leads)
        shown = narrowed(shown, most=self._asking.max_tools, max_tokens=int(room * TOOLS_SHARE))
        asked = self._asking.samples * (1 if self.single else len(dimensions))
        return Case(shown, leads, room, shared=asked > 1)

    def _room(self, leads: Mapping[str, Sequence[Lead]]) -> int:
        """Tokens of a transcript that fit beside everything else, whichever of the dimensions are asked for."""
        rubrics = list(self._safe_rubrics.values())
        if self.single:
            tail = count_text(self._tail(rubrics, self._safe_examples, leads))
        else:
            tail = max((count_text(self._tail([rubric], self._safe_examples, leads)) for rubric in rubrics), default=0)
        codes = list(self._rubrics) if self.single else ()
        schema = orjson.dumps(answer_schema(with_checks=self._asking.with_checks, codes=codes)).decode()
        taken = (
            count_text(self._system)
            + count_text(schema)
            + tail
            + self._max_tokens
            + min(self._max_tokens, AGAIN_TOKENS)
        )
        return max(1_000, int((self._window - taken) / SLACK))

    @cached_property
    def _max_tokens(self) -> int:
        return min(self._asking.max_tokens, max(1, self._window // 4))

    @cached_property
    def _system(self) -> str:
        return self._safe(system_text(self._asking.frame, self._asking.notes))

    @cached_property
    def _safe_rubrics(self) -> dict[str, Rubric]:
        return {
            code: rubric.model_copy(update={"text": self._safe(rubric.text)}) for code, rubric in self._rubrics.items()
        }

    @cached_property
    def _safe_examples(self) -> tuple[Example, ...]:
        return tuple(
            example.model_copy(
                update={"evidence": self._safe(example.evidence), "description": self._safe(example.description)}
            )
            for example in self._asking.examples
        )

    def _safe(self, text: str) -> str:
        return text if self._clean is None else self._clean(text)

    def _safe_lead(self, lead: Lead) -> Lead:
        finding = lead.finding
        safe = {"problem": self._safe(finding.problem), "quote": self._safe(finding.quote)}
        return lead.model_copy(update={"finding": finding.model_copy(update=safe)})

    def _tail(self, rubrics: Sequence[Rubric], examples: Sequence[Example], leads: Mapping[str, Sequence[Lead]]) -> str:
        with_checks = self._asking.with_checks
        if self.single:
            return single_question(rubrics, examples=examples, leads=leads, with_checks=with_checks)
        (rubric,) = rubrics
        return question(rubric, examples=examples, leads=leads.get(rubric.code, ()), with_checks=with_checks)

    def about(self, case: Case, dimensions: Sequence[str]) -> list[Request]:
        """The requests that ask for these dimensions (one, unless `single`): one for each part of the transcript."""
        tail = self._tail([self._safe_rubrics[dimension] for dimension in dimensions], self._safe_examples, case.leads)
        name, codes = (ALL, dimensions) if self.single else (dimensions[0], ())
        return [self._request(case, name, prefix, tail, codes) for prefix in case.prefixes]

    def final(self, case: Case, dimension: str, findings: Sequence[Finding]) -> Request:
        """The request for one score of a run that was read in parts, given the findings of all."""
        listed = [
            {
                "steps": case.labels(finding),
                "problem": shortened(self._safe(finding.problem), FINAL_EXCERPT),
                "quote": shortened(self._safe(finding.quote), FINAL_EXCERPT),
                "severity": finding.severity,
            }
            for finding in findings
        ]
        overview = outline(case.transcript, OUTLINE_TOKENS)
        rubric = self._safe_rubrics[dimension]
        tail = final_question(rubric, overview, listed, with_checks=self._asking.with_checks)
        return self._request(case, f"{dimension}-final", "", tail)

    def _request(self, case: Case, judge: str, prefix: str, tail: str, codes: Sequence[str] = ()) -> Request:
        return Request(
            model=self._model,
            system=self._system,
            prefix=prefix,
            tail=tail,
            answer_schema=answer_schema(with_checks=self._asking.with_checks, codes=codes),
            max_tokens=self._max_tokens,
            effort=self._asking.effort,
            cache_ttl=self._asking.cache_ttl,
            shared=case.shared,
            trace_id=case.transcript.trace_id,
            judge=judge,
            sample=self.sample,
        )
