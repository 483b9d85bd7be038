"""Models behind one protocol, with a memory, a budget and manners: the only door to model providers.

```
Request -> Client(Model, cache, ledger, limiter) -> Reply | ReplyError
```

Judges build a `Request` and await `complete`. What stands behind it is chosen once, where a run begins: a model of
`open_model`, a `FileModel` over someone else's responses, a `RecordingModel` that only remembers, a `BatchModel`, a
`ScriptedModel` in tests.
"""

from gpa.ingest.tokens import count_text
from gpa.judges.model.anthropic import AnthropicModel
from gpa.judges.model.batch import BatchModel
from gpa.judges.model.cache import Cache
from gpa.judges.model.choice import check_spec, open_model, window_of
from gpa.judges.model.client import Client
from gpa.judges.model.files import FileModel, RecordingModel, Responses, read_responses, request_line, write_requests
from gpa.judges.model.ledger import Costs, Estimate, Ledger, estimate
from gpa.judges.model.limiter import Limiter
from gpa.judges.model.litellm import LiteLLMModel
from gpa.judges.model.model import Model
from gpa.judges.model.prices import Price, Prices, load_prices
from gpa.judges.model.reply import ErrorType, Outcome, Reply, ReplyError, TokenUsage
from gpa.judges.model.request import Request, Turn
from gpa.judges.model.scripted import ScriptedModel, ScriptError

__all__ = [
    "AnthropicModel",
    "BatchModel",
    "Cache",
    "Client",
    "Costs",
    "ErrorType",
    "Estimate",
    "FileModel",
    "Ledger",
    "Limiter",
    "LiteLLMModel",
    "Model",
    "Outcome",
    "Price",
    "Prices",
    "RecordingModel",
    "Reply",
    "ReplyError",
    "Request",
    "Responses",
    "ScriptError",
    "ScriptedModel",
    "TokenUsage",
    "Turn",
    "check_spec",
    "count_text",
    "estimate",
    "load_prices",
    "open_model",
    "read_responses",
    "request_line",
    "window_of",
    "write_requests",
]
