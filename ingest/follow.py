"""A file that grows -> whole lines or whole messages as they are written, through truncation and rotation.

Written for the Collector's file exporter (`append`, `rotation`; its restart truncates the file unless it appends), true
of any JSON Lines file. Where a file was left is a small value that can be kept, so that a restart goes on there.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Self

from msgspec import Struct

from gpa.errors import FormatError, InputError
from gpa.ingest.compression import compression_of
from gpa.ingest.encoding import is_text
from gpa.ingest.frames import is_framed

PIECE_BYTES = 4 << 20
"""What is handed out at once, unless a single line is longer."""
MAX_BYTES = 1 << 30
_HEAD = 64
"""Bytes of the beginning that tell a file that was written anew from one that grew."""
_LENGTH = 4


class Position(Struct, frozen=True):
    """How far which file was read."""

    device: int
    inode: int
    offset: int
    head: bytes = b""
    """How the file begins."""


class Tail:
    """A file being followed; its name may not exist yet, and may come to stand for another file."""

    def __init__(self, path: str | Path, position: Position | None = None, *, max_bytes: int = MAX_BYTES) -> None:
        self.path = Path(path)
        self._max_bytes = max_bytes
        self._wanted = position
        self._fd: int | None = None
        self._identity = (0, 0)
        self._offset = 0
        """Where the next byte is read."""
        self._pending = b""
        """Bytes before it that are not a whole line yet."""
        self._head = b""
        self._quiet = 0
        """Times in a row that nothing was there although the name stands for another file."""
        self.restarts = 0
        """Times the file was truncated or written anew."""
        self.rotations = 0

    def read(self) -> bytes:
        """The next whole lines (or length-prefixed messages), empty when there is nothing new.

        Raises:
            InputError: the file cannot be read.
            FormatError: it is compressed, or a line exceeds the limit.
        """
        try:
            if self._fd is None and not self._open():
                return b""
            assert self._fd is not None
            if self._was_rewritten():
                self.restarts += 1
                self._offset, self._pending, self._head = 0, b"", b""
            data = os.pread(self._fd, PIECE_BYTES, self._offset)
            if not data:
                return self._at_end()
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        return self._take(data)

    @property
    def position(self) -> Position | None:
        """Where to go on after what `read` gave; None before the file was there."""
        if self._fd is None:
            return self._wanted
        return Position(*self._identity, self._offset - len(self._pending), self._head)

    def close(self) -> None:
        """Let go of the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self, data: bytes) -> bytes:
        if self._offset == 0:
            kind = compression_of(data[:_LENGTH])
            if kind:
                raise FormatError(f"{self.path}: expected plain lines or messages to follow, found {kind}")
        if len(self._head) < _HEAD and self._offset == len(self._head):
            self._head += data[: _HEAD - len(self._head)]
        self._offset += len(data)
        data = self._pending + data
        text = is_text(self._head)
        if not text and len(self._head) >= _LENGTH + 1 and not is_framed(self._head):
            raise FormatError(
                f"{self.path}: expected JSON Lines or length-prefixed messages to follow, found other bytes"
            )
        end = _whole(data, text=text)
        if end is None and len(data) > self._max_bytes:
            raise FormatError(f"{self.path}: expected lines of at most {self._max_bytes} bytes, found a longer one")
        self._pending = data[end or 0 :]
        self._quiet = 0
        return data[: end or 0]

    def _at_end(self) -> bytes:
        """Go on with the file that the name stands for by now, once the old one has been silent twice."""
        assert self._fd is not None
        try:
            now = self.path.stat()
        except FileNotFoundError:
            return b""  # between the renaming and the new file
        if (now.st_dev, now.st_ino) == self._identity:
            return b""
        self._quiet += 1
        if self._quiet < 2:
            return b""
        rest, self._pending = self._pending, b""  # a last line without its end
        self.close()
        self.rotations += 1
        self._open()
        return rest

    def _open(self) -> bool:
        """Open what is to be read next; whether there is anything."""
        position = self._wanted
        for path in (self.path, *self._rotated(position)):
            try:
                fd = os.open(path, os.O_RDONLY)
            except FileNotFoundError:
                continue
            status = os.fstat(fd)
            identity = (status.st_dev, status.st_ino)
            if position is not None and identity != (position.device, position.inode):
                os.close(fd)
                continue
            self._fd, self._identity, self._quiet, self._wanted = fd, identity, 0, None
            self._offset, self._head = (position.offset, position.head) if position else (0, b"")
            self._pending = b""
            return True
        if position is None:
            return False
        self._wanted = None  # the file that was left is gone: begin with the one that is there
        return self._open()

    def _rotated(self, position: Position | None) -> list[Path]:
        """Where the file that was left may be by now: the Collector renames `traces.json` to `traces-TIME.json`."""
        if position is None:
            return []
        with suppress(OSError):
            return sorted(
                path
                for path in self.path.parent.iterdir()
                if path != self.path and path.name.startswith(self.path.stem)
            )
        return []

    def _was_rewritten(self) -> bool:
        assert self._fd is not None
        return os.fstat(self._fd).st_size < self._offset or os.pread(self._fd, len(self._head), 0) != self._head


def _whole(data: bytes, *, text: bool) -> int | None:
    """Where the last whole line or message ends, None when there is none."""
    if text:
        return data.rfind(b"\n") + 1 or None
    at = 0
    while at + _LENGTH <= len(data):
        end = at + _LENGTH + int.from_bytes(data[at : at + _LENGTH], "big")
        if end > len(data):
            break
        at = end
    return at or None
