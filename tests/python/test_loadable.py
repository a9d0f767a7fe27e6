# SPDX-License-Identifier: BSD-3-Clause
"""Libraries in folders whose names ld.so or PETSc would cut are named by a link."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tailrace.errors import TailraceError
from tailrace.profile import job
from tailrace.profile.loadable import loadable

ODD = ["two words", "a:b", "tab\tstop", "$ORIGIN", "a;b", "new\nline", "quote'd", "per%cent"]
PLAIN = ["plain", "x86_64-linux-gnu", "c++", "grün", "a,b=c@d~e"]
FINDERS: dict[str, Callable[[], Path]] = {
    f"libtailrace_{what}_{family}.so": lambda what=what, family=family: job.find_library(  # type: ignore[misc]
        family, what
    )
    for what in ("mpi", "wait", "collectives", "io")
    for family in job.FAMILIES
}
FINDERS |= {"libtailrace_petsc.so": job.find_petsc_plugin}
FINDERS |= {"libtailrace_trilinos.so": job.find_trilinos_plugin}
FINDERS |= {
    f"libtailrace_{name}.so": lambda name=name: job.find_dense_library(name)  # type: ignore[misc]
    for name in ("lapack", "blas")
}


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", [*ODD, *PLAIN])
def test_programs_load_it(tmp_path: Path, name: str) -> None:
    """A program finds the library's variable in its environment's folder, without a line."""
    folder = tmp_path / name
    folder.mkdir()
    source = tmp_path / "noted.c"
    source.write_text(
        "#include <unistd.h>\n"
        '__attribute__((constructor)) static void note(void) { (void)!write(1, "loaded\\n", 7); }\n'
    )
    library = folder / "libnoted.so"
    built = subprocess.run(
        ["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=False
    ).returncode
    assert built == 0
    path = loadable(library)
    assert (path == library) == (name in PLAIN) and path.samefile(library)
    done = subprocess.run(
        ["env", f"LD_PRELOAD={path}", "true"], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("loaded\n", "")


@pytest.mark.parametrize("name", FINDERS)
def test_all_libraries_are_named_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = tmp_path / "two words"
    folder.mkdir()
    (folder / name).touch()
    monkeypatch.setenv("TAILRACE_BIN_DIR", str(folder))
    found = FINDERS[name]()
    assert " " not in str(found) and found.samefile(folder / name)
    assert FINDERS[name]() == found  # the link is made once
    monkeypatch.chdir(tmp_path)  # a relative folder
    monkeypatch.setenv("TAILRACE_BIN_DIR", "two words")
    assert FINDERS[name]() == found


def test_a_link_that_leads_elsewhere_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "two words"
    folder.mkdir()
    (folder / "lib.so").touch()
    link = loadable(folder / "lib.so").parent
    link.unlink()
    link.symlink_to(tmp_path)
    assert loadable(folder / "lib.so").samefile(folder / "lib.so")


def test_no_place_for_a_link_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    for cache, why in (
        (tmp_path / "another one", "also has a blank or a colon"),
        (tmp_path / "file", "exists"),
    ):
        monkeypatch.setenv("TAILRACE_CACHE", str(cache))
        with pytest.raises(TailraceError, match=f"{why}.*TAILRACE_CACHE"):
            loadable(tmp_path / "two words" / "lib.so")
