"""Files that are there whole or not at all, also when what writes them fails or is killed on the way."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes this name when the block ends well; otherwise what was there is as it was.

    Two that write at once each have a file of their own: the later one stays. Raises `OSError`.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.part")
    try:
        with beside.open("xb") as file:  # with the permissions that new files have here, as `tempfile` would not
            yield file
        beside.replace(path)
    finally:  # an interrupt too leaves no part behind
        beside.unlink(missing_ok=True)
