"""What stands after --model names a provider and a model, or the error says what would."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gpa.errors import UsageError
from gpa.judges.model import open_model


@pytest.mark.parametrize("spec", ["", "gpt-4o", "/x", "openai/", "   "])
def test_name_without_provider_is_a_usage_error(spec: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_model(spec)
    assert str(caught.value) == (
        f"--model: expected provider/name, such as anthropic/claude-sonnet-5-5, found {spec!r}"
    )


def test_bare_claude_gets_a_hint() -> None:
    with pytest.raises(UsageError, match=r"\(did you mean anthropic/claude-opus-5-5\?\)"):
        open_model("claude-opus-5-5")


def test_importing_the_package_loads_no_provider() -> None:
    code = (
        "import sys, gpa.judges.model;"
        "print([name for name in ('anthropic', 'litellm', 'httpx2', 'openai') if name in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "[]"
