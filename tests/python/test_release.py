# SPDX-License-Identifier: BSD-3-Clause
"""tools/release.py, in a copy of the tree: notes from fragments, versions, the tag, checksums."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
pytest.importorskip("towncrier")
FILES = (
    "tools/release.py", "tailrace/__init__.py", "CITATION.cff", "codemeta.json", "CMakeLists.txt",
    "packaging/conda/recipe.yaml",
    "README.md", "CHANGELOG.md", "pyproject.toml", "changelog.d/README.md",
)  # fmt: skip
FRAGMENTS = {
    "+later.library.md": "`Output` does what it did before, later.",
    "+quick.command.md": "`tailrace demo --slow` takes\nan hour.",
}


def git(tree: Path, *words: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", *who, *words], cwd=tree, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".gitignore").write_text("/dist/\n")
    for name, text in FRAGMENTS.items():
        (tmp_path / "changelog.d" / name).write_text(text + "\n")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "A")
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "A")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@example.org")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "all")
    return tmp_path


def release(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, tree / "tools/release.py", *words, "--without", "sdist,wheel,deb"],
        capture_output=True,
        text=True,
        check=False,
    )


def version_in(text: str) -> str:
    found = re.search(r'__version__ = "(.*)"', text)
    assert found
    return found[1]


def test_a_release_has_notes_a_version_a_tag_and_checksums(tree: Path) -> None:
    unreleased = (tree / "CHANGELOG.md").read_text().partition("## [Unreleased]\n")[2]
    done = release(tree, "9.8.0")
    assert done.returncode == 0, done.stdout + done.stderr
    folder = tree / "dist" / "9.8.0"
    notes = (folder / "NOTES.md").read_text()
    assert "### The library\n\n- `Output` does what it did before, later." in notes
    assert "### The command\n\n- `tailrace demo --slow` takes\n  an hour." in notes
    first = next(line for line in unreleased.splitlines() if line.startswith("- "))
    assert first in notes  # what was written before there were fragments
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert "NOTES.md" in (folder / "SHA256SUMS").read_text()

    at_tag = {name: git(tree, "show", f"v9.8.0:{name}") for name in FILES[1:8]}
    assert version_in(at_tag["tailrace/__init__.py"]) == "9.8.0"
    assert "\nversion: 9.8.0\n" in at_tag["CITATION.cff"]
    assert json.loads(at_tag["codemeta.json"])["version"] == "9.8.0"
    assert "project(tailrace VERSION 9.8.0 " in at_tag["CMakeLists.txt"]
    assert "set(tailrace_version_text ${PROJECT_VERSION})" in at_tag["CMakeLists.txt"]
    assert '\n  version: "9.8.0"\n' in at_tag["packaging/conda/recipe.yaml"]
    assert "version 9.8" in at_tag["README.md"]
    assert "## [9.8.0] - " in at_tag["CHANGELOG.md"]
    assert "[Unreleased]" not in at_tag["CHANGELOG.md"]

    assert version_in((tree / "tailrace/__init__.py").read_text()) == "9.9.0.dev0"
    assert (
        "set(tailrace_version_text ${PROJECT_VERSION}.dev0)"
        in (tree / "CMakeLists.txt").read_text()
    )
    assert sorted(p.name for p in (tree / "changelog.d").iterdir()) == ["README.md"]
    assert not git(tree, "status", "--porcelain")

    (tree / "changelog.d/+more.plugins.md").write_text("`exec` runs programs.\n")
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "more")
    done = release(tree, "9.9.0", "--next", "10.0.0.dev0")
    assert done.returncode == 0, done.stdout + done.stderr
    notes = (tree / "dist/9.9.0/NOTES.md").read_text()
    assert notes == "### Plug-ins for unchanged programs\n\n- `exec` runs programs.\n"
    assert (tree / "CHANGELOG.md").read_text().count("## [9.") == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["0.1.0"], "versions must ascend: "),
        (["9.8"], "9.8 is not a version such as 0.2.0"),
        (["9.8.0.dev1"], "9.8.0.dev1 is a development version"),
        (["9.8.0", "--next", "9.7.0.dev0"], "versions must ascend: "),
    ],
)
def test_what_is_refused_changes_nothing(tree: Path, words: list[str], said: str) -> None:
    done = release(tree, *words)
    assert done.returncode != 0
    assert said in done.stderr, done.stderr
    assert not git(tree, "status", "--porcelain")
    assert git(tree, "log", "--oneline").count("\n") == 1


def test_a_changed_tree_is_refused(tree: Path) -> None:
    (tree / "new").touch()
    done = release(tree, "9.8.0")
    assert "commit or remove first:\n?? new" in done.stderr
    assert "VERSION 9.8.0" not in (tree / "CMakeLists.txt").read_text()
