"""What is built holds one top-level name, with real files, and the public names are exactly the promised ones."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import gpa

ROOT = Path(__file__).parent.parent
ROOMS = ("ingest", "judges", "optimize", "plans")


@pytest.mark.parametrize("room", ROOMS)
def test_each_room_is_linked_into_the_package(room: str) -> None:
    link = ROOT / "gpa" / room
    assert link.is_symlink(), f"{link} is no link: on Windows, check out with core.symlinks=true"
    assert link.resolve() == ROOT / room
    assert not link.readlink().is_absolute()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel made from what the sdist holds."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def modules(names: list[str]) -> set[str]:
    return {name for name in names if name.endswith(".py")}


SOURCES = {
    path.relative_to(ROOT).as_posix()
    for folder in ("gpa", *ROOMS)
    for path in (ROOT / folder).rglob("*.py")
    if not path.relative_to(ROOT).as_posix().startswith(tuple(f"gpa/{room}/" for room in ROOMS))
}
PACKED = {f"gpa/{name}" if name.startswith(ROOMS) else name for name in SOURCES}


def test_the_wheel_holds_one_top_level_name_and_every_module_as_a_file(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"gpa"}
        assert modules(names) == PACKED
        assert "gpa/py.typed" in names
        assert archive.read("gpa/ingest/spans.py") == (ROOT / "ingest/spans.py").read_bytes()


def test_the_sdist_holds_files_not_links(built: Path) -> None:
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        members = {member.name.split("/", 1)[1]: member for member in archive.getmembers()}
        assert all(member.isfile() for member in members.values())
        assert modules(list(members)) == PACKED
        assert {"pyproject.toml", "README.md", "LICENSE"} <= members.keys()


def test_every_public_name_loads_from_the_module_that_owns_it() -> None:
    for name in gpa.__all__:
        value = getattr(gpa, name)
        assert value is getattr(import_module(value.__module__), name), name


def test_public_names_are_exact() -> None:
    assert set(dir(gpa)) == set(gpa.__all__)
    assert gpa.__all__ == sorted(gpa.__all__)
    with pytest.raises(AttributeError, match="module 'gpa' has no attribute 'nothing'"):
        gpa.nothing  # noqa: B018


def test_importing_gpa_loads_nothing_that_is_heavy() -> None:
    heavy = ["anthropic", "click", "google.protobuf", "msgspec", "pydantic", "rich", "sqlalchemy"]
    code = f"import sys, gpa; print([name for name in {heavy!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_version_is_the_distributions() -> None:
    assert f'version = "{gpa.__version__}"' in (ROOT / "pyproject.toml").read_text()
