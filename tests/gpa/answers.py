"""What models say to judges here: answers made from the request alone, so that every run gets the same."""

from __future__ import annotations

import re
from typing import Any

from tests.judges.replies import finding, reply
from tests.servers.messages import Answer, fingerprint


def shown(params: dict[str, Any]) -> str:
    """The transcript in a request."""
    text: str = params["messages"][0]["content"][0]["text"]
    return text


def passages(params: dict[str, Any]) -> list[tuple[str, str]]:
    """Labels of steps with a line that stands in no other step."""
    text = shown(params)
    steps = re.findall(r"^\[(s\d+)\] .*\n((?:  .*\n)*)", text, re.MULTILINE)
    found = [(label, line.strip()) for label, body in steps for line in body.splitlines()]
    return [(label, line) for label, line in found if len(line) > 30 and text.count(line) == 1]


def varied(params: dict[str, Any]) -> Answer:
    """Another answer to every request: scores 0-3, steps that exist and that do not, quotes true and false."""
    number = int(fingerprint(params)[:8], 16)
    text = shown(params)
    labels = re.findall(r"^\[(s\d+)\]", text, re.MULTILINE) or ["s1"]
    findings = [
        finding(
            steps=[labels[(number + step) % len(labels)], f"s{number % 5000}"],
            quote=text[(number * (step + 1)) % len(text) :][:60],
            problem=f"problem {number}",
        )
        for step in range(number % 4)
    ]
    return Answer(reply(*findings, score=number % 4))
