"""Tools ranked by the meaning of a question: sentence-transformers for vectors, FAISS for the search.

Both come with `pip install 'agent-gpa[narrow]'`. The tools of a registry are embedded once; their vectors are kept in a
folder under the registry's digest and the model's name, as a plain array and a JSON file that says what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from hashlib import blake2b
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from gpa.errors import InputError, StoreError, UsageError
from gpa.ingest.whole import replacing
from gpa.plans.capabilities import Registry
from gpa.plans.narrowing import Scored

if TYPE_CHECKING:
    import numpy as np

INSTALL = "pip install 'agent-gpa[narrow]'"
DEFAULT_MODEL = "BAAI/bge-small-en"
DIGITS = 5
"""Of a score: beyond, floating-point sums differ between machines, and the order of tools with them."""

Encode = Callable[[Sequence[str]], Any]
"""Texts -> an array of vectors, one a row."""


class _About(Struct, frozen=True, forbid_unknown_fields=True):
    """What the vectors in a file are."""

    registry: str
    model: str
    tools: tuple[str, ...]
    width: int


class EmbeddingIndex:
    """Ranks the tools of a registry by cosine similarity; the same order on every run."""

    def __init__(self, registry: Registry, encode: Encode, *, model: str, folder: Path | None = None) -> None:
        """Embed the tools, or take their vectors from `folder`. Raises `UsageError` where FAISS is not installed."""
        self._tools = registry.names
        self._encode = encode
        self._search = _faiss_index(vectors(registry, encode, model=model, folder=folder))

    def search(self, question: str, limit: int) -> Sequence[Scored]:
        """The best tools, best first, ties by name; scores are between 0 and 1."""
        if not self._tools or not question.strip() or limit < 1:
            return []
        # All are ranked: a tie at the limit must not be decided by the order of the registry.
        scores, places = self._search.search(_unit(self._encode([question])), len(self._tools))
        found = [
            Scored(self._tools[place], max(0.0, round(float(score), DIGITS)))
            for score, place in zip(scores[0], places[0], strict=True)
        ]
        return sorted(found, key=lambda one: (-one.score, one.tool))[:limit]


def open_encoder(model: str = DEFAULT_MODEL) -> tuple[Encode, str]:
    """What embeds texts, and the name its vectors go by: a model by name, or a folder that holds one.

    Raises:
        UsageError: sentence-transformers is not installed.
        InputError: there is no such model.
    """
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise UsageError(f"--index embeddings: needs sentence-transformers: {INSTALL}") from error
    path = Path(model).expanduser()
    named = _named(path) if path.is_dir() else model
    try:
        with redirect_stderr(StringIO()):  # a bar for the loading of weights, whatever the stream
            encoder = SentenceTransformer(str(path) if path.is_dir() else model, device="cpu")
    except (OSError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"--embedding-model: expected a model or a folder with one, found {model!r}: {why}") from error

    def encode(texts: Sequence[str]) -> Any:
        # One by one: in a batch, padding changes the last digits of a vector with its neighbours.
        return encoder.encode(list(texts), batch_size=1, convert_to_numpy=True, show_progress_bar=False)

    return encode, named


def vectors(registry: Registry, encode: Encode, *, model: str, folder: Path | None = None) -> Any:
    """Vectors of length one, a row for each tool in the order of the registry; from `folder` where they are kept."""
    if folder is not None:
        kept = _kept(folder, registry, model)
        if kept is not None:
            return kept
    made = _unit(encode([tool.document for tool in registry.tools])) if registry.tools else _unit([[0.0]])[:0]
    if folder is not None:
        _keep(folder, registry, model, made)
    return made


def _named(path: Path) -> str:
    """A folder's name with a hash over the names, sizes and times of its files: another model there is another name."""
    digest = blake2b(digest_size=8)
    for file in sorted(path.rglob("*")):
        if file.is_file():
            about = file.stat()
            digest.update(f"{file.relative_to(path).as_posix()} {about.st_size} {about.st_mtime_ns}\n".encode())
    return f"{path.name}@{digest.hexdigest()}"


def _paths(folder: Path, registry: Registry, model: str) -> tuple[Path, Path]:
    key = blake2b(f"{registry.digest}\0{model}".encode(), digest_size=16).hexdigest()
    return folder / f"{key}.npy", folder / f"{key}.json"


def _kept(folder: Path, registry: Registry, model: str) -> Any:
    """The vectors that are kept for this registry and model; None when there are none, or they are damaged."""
    import numpy as np

    array, about = _paths(folder, registry, model)
    try:
        said = msgspec.json.decode(about.read_bytes(), type=_About)
        found = np.load(array, allow_pickle=False)
    except (OSError, ValueError, EOFError, msgspec.MsgspecError):
        return None
    if (said.registry, said.model, said.tools) != (registry.digest, model, registry.names):
        return None
    fits = found.dtype == np.float32 and found.shape == (len(registry.tools), said.width) and np.isfinite(found).all()
    return found if fits else None


def _keep(folder: Path, registry: Registry, model: str, made: Any) -> None:
    """Write the vectors, then what says that they are whole."""
    import numpy as np

    buffer = BytesIO()
    np.save(buffer, made, allow_pickle=False)
    about = _About(registry.digest, model, registry.names, int(made.shape[1]))
    array, said = _paths(folder, registry, model)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, data in ((array, buffer.getvalue()), (said, msgspec.json.encode(about))):
            with replacing(path) as file:
                file.write(data)
    except OSError as error:
        raise StoreError(f"{folder}: expected a folder to keep vectors in, found: {error.strerror or error}") from error


def _unit(rows: Any) -> np.ndarray[Any, Any]:
    """The vectors at length one, so that their inner product is the cosine; a zero vector stays as it is."""
    import numpy as np

    array = np.ascontiguousarray(rows, dtype=np.float32)
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    unit: np.ndarray[Any, Any] = np.ascontiguousarray(array / np.where(lengths > 0, lengths, 1), dtype=np.float32)
    return unit


def _faiss_index(rows: Any) -> Any:
    try:
        import faiss
    except ImportError as error:
        raise UsageError(f"--index embeddings: needs faiss-cpu: {INSTALL}") from error
    index = faiss.IndexFlatIP(int(rows.shape[1]))
    index.add(rows)
    return index
