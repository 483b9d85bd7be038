"""Every error this package raises on purpose, in one tree.

```
GpaError
├── InputError        a file, stream or request that cannot be read as what it claims to be
│   └── FormatError   bytes or values that break their format's rules; says expected, found, where
├── UsageError        options or arguments that contradict each other or name something unknown
├── StoreError        the results store is missing, locked, or of another schema
├── ExportError       a backend does not take what is sent to it
└── SpoolError        received spans cannot be kept just now, or the spool is something else
```

A bug is not in this tree: it keeps its traceback. The command line prints one line for a
`GpaError` and exits 2.
"""

from __future__ import annotations


class GpaError(Exception):
    """Something a person can act on: the message says what was expected, what was found, and where."""


class InputError(GpaError):
    """A file, stream or request could not be read."""


class FormatError(InputError):
    """Bytes or values break the rules of the format they claim to be."""


class UsageError(GpaError):
    """Options or arguments contradict each other or name something that does not exist."""


class StoreError(GpaError):
    """The results store is missing, locked, or was written with another schema."""


class SpoolError(GpaError):
    """Received spans cannot be kept or read; `retry_s` says when it may work again, None when a person must act."""

    def __init__(self, message: str, *, retry_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_s = retry_s


class ExportError(GpaError):
    """A backend did not take what was sent to it."""
