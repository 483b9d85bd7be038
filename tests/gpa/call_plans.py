"""A plan about calls whose first step asks for too much, the same with that step divided, and the tools of both."""

from __future__ import annotations

PALETTE = """
[[tools]]
name = "T2S"
about = "Figures of calls. T2S(ids, prompt)."
triggers = ["call drivers", "moments", "duration"]
max_triggers = 1

[[tools]]
name = "LLM"
about = "Writes the answer. LLM(prompt)."
inputs = "prompt"
executable = false
"""
PLAN = {
    "1": {"step": "T2S([], 'Count call drivers; list moments')", "depends_on": []},
    "2": {"step": "LLM('Answer (query) from (1)')", "depends_on": [1]},
}
SPLIT = [
    {"id": "1", "step": "T2S([], 'Count call drivers')", "depends_on": []},
    {"id": "2", "step": "T2S([], 'list moments')", "depends_on": []},
    {"id": "3", "step": "LLM('Answer (query) from (1) and (2)')", "depends_on": ["1", "2"]},
]
