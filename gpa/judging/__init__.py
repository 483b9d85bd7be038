"""LLM judges made ready for a run: what a user chose becomes a model, a client with its memory, and a judge a sample.

`settings` holds what can be chosen, `answering` where answers come from (the model itself, Message Batches, files of
responses, or nowhere), `bench` what is opened for a run. The judges cannot tell where their answers come from.
"""

from __future__ import annotations

from gpa.judging.answering import default_cache
from gpa.judging.bench import Bench, Spending, opened
from gpa.judging.settings import Judging, OnBatch

__all__ = ["Bench", "Judging", "OnBatch", "Spending", "default_cache", "opened"]
