# SPDX-License-Identifier: BSD-3-Clause
"""What README and guides tell to type exists."""

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stand_ins import built
from typer.main import get_command
from typer.testing import CliRunner

import tailrace
from tailrace.cli import app
from tailrace.cli.list import read_tables
from tailrace.cli.old_names import RENAMED, renew

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
DOCUMENTS += sorted((ROOT / "bench" / "log").glob("*.md"))
DOCUMENTS.remove(ROOT / "CHANGELOG.md")  # names what was


def code(text: str) -> str:
    fenced = re.compile(r"^ *```(\w*)\n(.*?)^ *```", flags=re.DOTALL | re.MULTILINE)
    shell = ("", "sh", "bash", "console", "text")
    blocks = [block for language, block in fenced.findall(text) if language in shell]
    return "\n".join([*blocks, *re.findall(r"`([^`\n]+)`", fenced.sub("", text))])


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_make_targets_and_subcommands_exist(path: Path) -> None:
    text = code(path.read_text())
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"\bmake (?:[A-Z]+=\S+ )*([a-z]+)", text)) <= targets
    known = set(get_command(app).commands)  # type: ignore[attr-defined]
    known |= set(RENAMED) if path.name == "from_0.1.md" else set()
    assert set(re.findall(r"(?:^|[/ ])tailrace ([a-z]+)", text, flags=re.MULTILINE)) <= known


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_configuring_names_a_kernel_of_the_transforms(path: Path) -> None:
    text = code(path.read_text().replace("\\\n", " "))
    for line in re.findall(r"^cmake --preset release .*", text, flags=re.MULTILINE):
        if "-DTAILRACE_PRODUCTS=kernels" in line:
            continue  # has no transforms
        assert re.search(r"-DTAILRACE_(DUCC_DIR|FFTW)=", line), line


def command_lines(text: str) -> list[list[str]]:
    """Return the words of the lines "tailrace ..." that have no place-holders."""
    found = []
    lines = code(text.replace("\\\n", " "))
    for line in re.findall(r"(?:^|[/ ])tailrace ([a-z][^\n|>&;]*)", lines, flags=re.MULTILINE):
        words = shlex.split(line, comments=True)
        if not any(word in ("...", "COMMAND") or re.search(r"\bNAME\b", word) for word in words):
            found.append(words)
    return found


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_options_of_command_lines_exist(path: Path) -> None:
    for line in command_lines(path.read_text()):
        line, _ = renew(line)  # noqa: PLW2901
        words = line[: line.index("--")] if "--" in line else line  # then another program's
        command = get_command(app)
        while words and hasattr(command, "commands") and not words[0].startswith("-"):
            command = command.get_command(None, words.pop(0))  # type: ignore[attr-defined]
            assert command is not None, words
        known = {name for parameter in command.params for name in parameter.opts}
        known |= {name for parameter in command.params for name in parameter.secondary_opts}
        given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert given - {"--help", "-h"} <= known, words


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_to_files_lead_somewhere(path: Path) -> None:
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        if "://" not in link:
            assert (path.parent / link).exists(), link


@pytest.mark.parametrize("path", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=lambda path: path.name)
def test_lines_are_at_most_100_columns_wide(path: Path) -> None:
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    long = [line for line in text.splitlines() if len(line) > 100]
    assert not [line for line in long if not re.match(r" *\||!\[|    \S", line)]  # tables, code


def test_the_version_is_the_same_everywhere() -> None:
    """CMake and the metadata name the version of `tailrace/__init__.py`, which pip reads."""
    cff = (ROOT / "CITATION.cff").read_text()
    assert re.findall(r"^version: (.*)$", cff, flags=re.MULTILINE) == [tailrace.__version__]
    assert json.loads((ROOT / "codemeta.json").read_text())["version"] == tailrace.__version__
    release, dot, rest = tailrace.__version__.partition(".dev")
    cmake = (ROOT / "CMakeLists.txt").read_text()
    assert f"VERSION {release} " in cmake
    assert f"set(tailrace_version_text ${{PROJECT_VERSION}}{dot}{rest})" in cmake
    assert f'"{tailrace.__version__}"' not in (ROOT / "pyproject.toml").read_text()
    assert f"version {release.rpartition('.')[0]}" in (ROOT / "README.md").read_text()


def test_the_readme_is_a_screen_and_a_half_with_three_doors() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) < 750
    doors = re.findall(r"^## (I .*)$", text, flags=re.MULTILINE)
    assert doors == ["I write a code", "I run somebody's MPI program", "I analyse files"]
    assert "\n|" not in text  # tables are in the docs


def navigation(text: str) -> list[str]:
    """Return the pages in the navigation of mkdocs.yml."""
    return re.findall(r"^ +- .*: (\S+[.]md)$", text.partition("\nnav:\n")[2], flags=re.MULTILINE)


def test_pages_of_the_navigation_exist_once() -> None:
    pages = navigation((ROOT / "mkdocs.yml").read_text())
    assert len(pages) > 15 and len(set(pages)) == len(pages)
    assert not [page for page in pages if not (ROOT / "docs" / page).is_file()]
    how = [f"how/{path.name}" for path in (ROOT / "docs" / "how").glob("*.md")]
    assert set(how) <= set(pages)


def test_links_out_of_the_docs_are_paths_on_the_site() -> None:
    spec = importlib.util.spec_from_file_location("site_links", ROOT / "tools" / "site_links.py")
    assert spec and spec.loader
    links = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(links)
    text = "[a.cpp](../../examples/a.cpp), [jobs](../../x.slurm), [c](../c.md#d)\n"
    fenced = "```\n[k](../../k)\n```\n"
    expected = "`examples/a.cpp`, jobs (`x.slurm`), [c](../c.md#d)\n"
    assert links.site_text(text + fenced, "how/b.md") == expected + fenced
    assert links.slug("Which rank, on `which` node?", "-") == "which-rank-on-which-node"


def anchors(text: str) -> set[str]:
    """Return the names that GitHub gives to the headings of a page."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_to_headings_lead_somewhere(path: Path) -> None:
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    for link, anchor in re.findall(r"\]\(([^):#]*)#([^)]*)\)", text):
        page = path.parent / link if link else path
        assert anchor in anchors(page.read_text()), f"{link}#{anchor}"


def test_ci_runs_what_the_readme_says() -> None:
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    assert "make test" in (ROOT / "README.md").read_text()


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command and of all below it."""
    yield path
    for name in getattr(command, "commands", {}):
        yield from commands(command.get_command(None, name), (*path, name))


@pytest.mark.parametrize("path", [*commands(get_command(app))], ids=" ".join)
def test_help_fits_a_screen_and_has_an_example(path: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*path, "--help"], terminal_width=78, prog_name="tailrace")
    assert done.exit_code == 0, done.output
    lines = done.output.rstrip().splitlines()
    assert "Usage: tailrace" in lines[0]
    assert len(lines) <= (24 if path else 40)  # `tailrace` alone is the screen for beginners
    assert max(len(line) for line in lines) <= 80
    assert " ".join(["tailrace", *path]) in "".join(lines[1:])
    summaries = done.output.partition("Commands:" if path else "Simulations:")[2].splitlines()
    assert not [line for line in summaries if line.endswith("...")], "cut short"


def test_help_all_shows_rarely_used_options() -> None:
    short, whole = (
        CliRunner().invoke(app, ["plan", option], env={"COLUMNS": "80"}).output
        for option in ("--help", "--help-all")
    )
    assert "--outage-s" not in short
    assert "--outage-s" in whole


def applications() -> list[str]:
    return [path.parent.name for path in ROOT.glob("apps/*/case_keys.cpp")]


def test_generated_tables_are_what_the_programs_print() -> None:
    built("tailrace-list")
    for application in applications():
        built(f"tailrace-{application}")
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "reference", "--check"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_table_of_the_programs_is_in_the_docs() -> None:
    built("tailrace-list")
    text = "".join(path.read_text() for path in DOCUMENTS)
    names = {table["name"] for table in read_tables()} - {"cases"}
    commands = {f"tailrace list {name} --markdown" for name in names}
    found = re.findall(r"<!-- generated: (.*) -->\n\n\|.*\n", text)
    keys = {f"tailrace-{application} --keys" for application in applications()}
    assert sorted(found) == sorted(commands | keys)
