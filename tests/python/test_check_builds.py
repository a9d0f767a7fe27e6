# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace advise --build`: other flags and compilers, and whether results stay the same.

The program is a script that the build command writes; it prints its own time, so that nothing
depends on how fast the machine is.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from test_check_launch import rank
from test_check_tips import TIP, situation
from typer.testing import CliRunner

from tailrace.advice.builds import Builds
from tailrace.advice.experiment import Proposal, RunFailedError
from tailrace.advice.launch import Launch
from tailrace.advice.outputs import compare
from tailrace.advice.setting import Setting, combined
from tailrace.advice.tips.compilers import Compiler, installed_compilers
from tailrace.advice.tips.situation import DoesNotApplyError
from tailrace.cli import app
from tailrace.errors import TailraceError

# A "compiler": the program prints what CFLAGS make of it.
BUILD = """
case "$CFLAGS" in
  *Ofast*) t=1; x=1.5;;
  *flto*) echo "ld: error: no plugin" >&2; exit 1;;
  *native*) t=2; x=1.00000001;;
  *) t=6; x=1.0;;
esac
printf '#!/bin/sh\\necho cost %s\\necho norm %s\\n' $t $x > app.new
chmod +x app.new && mv app.new app
"""


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder, a launcher that starts one process, no flags of the user."""
    monkeypatch.setenv("TAILRACE_LAUNCHER", "env RANKS={ranks}")
    monkeypatch.setenv("TAILRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TAILRACE_TUNE_FILE", str(tmp_path / "none.json"))
    for name in ("CFLAGS", "CXXFLAGS", "FFLAGS", "FCFLAGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def proposal(flags: str, tip: str = "flags") -> Proposal:
    """Return the proposal of flags."""
    return Proposal(tip, Setting(flags, build={"CFLAGS": flags}))


def test_each_build_is_kept_and_the_last_is_the_plain_one(here: Path) -> None:
    with Builds(BUILD, "./app") as builds:
        fast = builds.program({"CFLAGS": "-Ofast"})
        assert "norm 1.5" in fast.read_text() and fast.parent == here
        assert builds.program({"CFLAGS": "-Ofast"}) == fast
        assert "norm 1.0" in builds.program({}).read_text()
        for _ in range(2):
            with pytest.raises(RunFailedError, match="the build fails: ld: error: no plugin"):
                builds.program({"CFLAGS": "-flto"})
    assert "norm 1.0" in (here / "app").read_text()
    assert [path.name for path in here.iterdir()] == ["app"]


def test_an_interrupted_check_leaves_the_plain_program(here: Path) -> None:
    with pytest.raises(KeyboardInterrupt), Builds(BUILD, "./app") as builds:
        builds.program({"CFLAGS": "-Ofast"})
        raise KeyboardInterrupt
    assert "norm 1.0" in (here / "app").read_text()
    assert [path.name for path in here.iterdir()] == ["app"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-compiler app.c", "the build fails: .*no-such-compiler.*not found"),
        ("echo 'x.c:1: error: bad'; echo more; exit 2", "the build fails: x.c:1: error: bad"),
        ("exit 3", "the build fails: exit status 3"),
        ("true", "succeeds, but program ./app: was not found"),
        ("echo > app", "succeeds, but program ./app: is not executable"),
    ],
)
def test_builds_that_make_no_program(here: Path, command: str, message: str) -> None:
    with pytest.raises(TailraceError, match=message) as raised:
        Builds(command, "./app")
    assert raised.value.status == 2


def test_a_build_must_write_the_program(here: Path) -> None:
    with Builds(BUILD, "./app"):
        pass
    with pytest.raises(
        TailraceError, match=r"did not write \./app; expected .* from scratch each time"
    ):
        Builds("true", "./app")
    with Builds(BUILD, "./app") as builds:
        (here / "libx.so").touch()
        # A file's time is the last tick of a clock, which may lie before the build began.
        for written_s in (builds.begin_s - 0.009, float(int(builds.begin_s))):
            os.utime(here / "libx.so", (written_s, written_s))
            builds.require_one_file([str(here / "app"), "/lib/none.so"])
            with pytest.raises(TailraceError, match=r"also builds libx\.so, which the program"):
                builds.require_one_file([str(here / "libx.so")])


@pytest.mark.parametrize("ahead_s", [-60, 60])
def test_files_of_a_build_are_known_where_clocks_differ(
    here: Path, monkeypatch: pytest.MonkeyPatch, ahead_s: int
) -> None:
    """The node's clock is not that of the file server."""
    real = time.time
    (here / "libold.so").touch()
    old_s = real() - 1
    os.utime(here / "libold.so", (old_s, old_s))
    monkeypatch.setattr(time, "time", lambda: real() + ahead_s)
    with Builds(f"touch libnew.so\n{BUILD}", "./app") as builds:
        builds.require_one_file([str(here / "libold.so")])
        with pytest.raises(TailraceError, match=r"also builds libnew\.so"):
            builds.require_one_file([str(here / "libnew.so")])


def test_builds_that_change_nothing_are_left_out(here: Path) -> None:
    with Builds(BUILD, "./app") as builds:
        asked = [proposal(f) for f in ("-O2", "-march=native", "-mtune=native", "-flto")]
        asked.append(Proposal("malloc", Setting("keep")))
        kept, lines = builds.prepare(asked)
    assert [one.setting.name for one in kept] == ["-march=native", "keep"]
    assert lines == [
        "flags (-O2): builds the same program as the plain build.",
        "flags (-mtune=native): builds the same program as -march=native.",
        "flags (-flto): the build fails: ld: error: no plugin.",
    ]
    with Builds(f"CFLAGS=; {BUILD}", "./app") as builds:
        kept, lines = builds.prepare([proposal("-O2"), proposal("-march=native")])
    assert kept == [] and len(lines) == 1
    assert "does not use CFLAGS" in lines[0] and 'make -B CFLAGS="$CFLAGS"' in lines[0]


def test_of_a_compiler_the_first_way_that_works_is_taken(here: Path) -> None:
    """Behind the wrapper it changes nothing here; as CC it does."""
    command = BUILD.replace("$CFLAGS", "$CC$MPICC")
    ways = [
        Proposal("compiler", Setting("x", build={"OMPI_CC": "native"})),
        Proposal("compiler", Setting("x as CC", build={"CC": "native"})),
        Proposal("compiler", Setting("x again", build={"MPICC": "native"})),
    ]
    with Builds(command, "./app") as builds:
        kept, lines = builds.prepare(ways)
    assert [one.setting.name for one in kept] == ["x as CC"]
    assert lines == ["compiler (x): builds the same program as the plain build."]


def checked(monkeypatch: pytest.MonkeyPatch, *words: str, build: str = BUILD) -> Any:
    """Run `tailrace advise --build` on a launch made by hand."""
    launch = Launch([rank(0, 1)], 1)
    monkeypatch.setattr("tailrace.cli.advise.launch_once", lambda *_: launch)
    options = ["--tips", "flags", "--metric", r"cost (\S+)", "--build", build]
    done = CliRunner().invoke(app, ["advise", *options, *words, "--", "./app"])
    assert done.exception is None
    return done.stdout


def test_flags_that_win_and_flags_that_change_results(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = json.loads(checked(monkeypatch, "--json"))
    found = {one["setting"]["name"]: one for one in data["tips"]}
    assert found["-O3 -march=native"]["outcome"] == "wins"
    assert found["-O3 -march=native"]["confirmed"]["gain"] == 3.0
    fast = found["-Ofast -march=native"]
    assert (fast["outcome"], fast["why"]) == ("fails", "prints 1.5 instead of 1.0 in: norm #")
    assert data["build"].startswith("(export CFLAGS='-O3 -march=native' CXXFLAGS=")
    said = " ".join(data["builds"])
    assert "1 of 1 printed numbers differ, by up to 1e-08" in said
    assert "flags (-O3 -march=native -flto): the build fails: ld: error: no plugin" in said
    assert not (here / "tailrace-settings.toml").exists()  # nothing to set for a run
    assert not list(here.glob(".app*"))
    text = checked(monkeypatch)
    assert "3.00x (3.00 to 3.00)" in text and "Build it with:\n  (export CFLAGS=" in text
    assert "Apply it with" not in text


def test_flags_and_a_compiler_win_together(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No build has both before they are confirmed together."""
    clang = [Compiler("clang", "99", ("clang", "", ""))]
    monkeypatch.setattr("tailrace.advice.advise.installed_compilers", lambda: clang)
    both = BUILD.replace("printf", 'test "$OMPI_CC" != clang || t=$((t / 2))\nprintf')
    data = json.loads(checked(monkeypatch, "--json", "--tips", "flags,compiler", build=both))
    winners = [one["setting"]["name"] for one in data["tips"] if one["outcome"] == "wins"]
    assert winners == ["-O3 -march=native", "clang 99"]
    assert data["together"]["gain"] == 6.0
    assert "-march=native" in data["build"] and " OMPI_CC=clang; " in data["build"]
    assert not list(here.glob(".app*"))


def test_flags_stand_behind_those_of_the_user(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFLAGS", "-g -DX='a b'")
    found = TIP["flags"].propose(situation(1, build="make -B"))
    assert found[0].build["CFLAGS"] == "-g -DX='a b' -O3 -march=native"
    assert found[0].build["FFLAGS"] == "-O3 -march=native"
    assert not any("width" in one.name for one in found)
    wide = situation(1, build="make -B", files={"/proc/cpuinfo": "flags : avx avx2 avx512f\n"})
    assert "-mprefer-vector-width=512" in TIP["flags"].propose(wide)[-1].name


def test_build_options_go_with_a_build_only(here: Path) -> None:
    for tip in ("flags", "compiler"):
        with pytest.raises(DoesNotApplyError, match="no build command was given"):
            TIP[tip].propose(situation())
    for words in (["--apply", "x.toml"],):
        done = CliRunner().invoke(app, ["advise", "--build", "make", *words, "--", "./app"])
        assert "--build cannot be used with --apply" in str(done.exception)


def test_installed_compilers_and_what_they_propose(here: Path) -> None:
    for name, version in (("gcc", "12"), ("gcc-12", "12"), ("gcc-13", "13"), ("clang-15", "15")):
        script = here / name
        script.write_text(f"#!/bin/sh\necho {version}.0.1\n")
        script.chmod(0o755)
    for name in ("g++", "g++-13", "gfortran-13", "clang++-15"):
        script = here / name
        script.write_text("#!/bin/sh\n")
        script.chmod(0o755)
    found = installed_compilers(f"{here}:/no/such/folder")
    assert found == [
        Compiler("gcc", "12", ("gcc", "g++", "")),
        Compiler("gcc", "13", ("gcc-13", "g++-13", "gfortran-13")),
        Compiler("clang", "15", ("clang-15", "clang++-15", "")),
    ]
    given = {"build": "make -B", "made_by": ("gcc", "12"), "compilers": found}
    texts = [one.text for one in TIP["compiler"].propose(situation(**given))]
    assert texts == [
        "OMPI_CC: gcc-13 OMPI_CXX: g++-13 OMPI_FC: gfortran-13",
        "CC: gcc-13 CXX: g++-13 FC: gfortran-13",
        "OMPI_CC: clang-15 OMPI_CXX: clang++-15",
        "CC: clang-15 CXX: clang++-15",
    ]
    with pytest.raises(DoesNotApplyError, match="no compiler other than gcc 12"):
        TIP["compiler"].propose(situation(**{**given, "compilers": found[:1]}))


def test_flags_and_compiler_together_are_one_build() -> None:
    flags = Setting("-O3", build={"CFLAGS": "-O3", "FFLAGS": "-O3"})
    compiler = Setting("clang", build={"OMPI_CC": "clang"})
    both = combined("all", [flags, compiler, Setting("m", {"X": "1"})])
    assert both.build == {"CFLAGS": "-O3", "FFLAGS": "-O3", "OMPI_CC": "clang"}
    assert both.changes_the_run and not flags.changes_the_run
    assert flags.text == "CFLAGS, FFLAGS: -O3"


PLAIN = "rank 0 of 2: sum 1.25e+00\nrank 1 of 2: sum 2.50\nelapsed 3.1 s\nseed 17\ntiny 2e-17\n"
AGAIN = "rank 1 of 2: sum 2.50\nrank 0 of 2: sum 1.25e+00\nelapsed 3.3 s\nseed 18\ntiny 2e-17\n"


@pytest.mark.parametrize(
    ("change", "wrong", "differing"),
    [
        (("", ""), "", 0),
        (("elapsed 3.1", "elapsed 1.1"), "", 0),
        (("seed 17", "seed 99"), "", 0),
        (("tiny 2e-17", "tiny -4e-17"), "", 0),
        (("1.25e+00", "1.2500003"), "", 1),
        (("2.50", "2.51"), "", 1),  # a unit of the last digit
        (("1.25e+00", "1.29e+00"), "prints 1.29e+00 instead of 1.25e+00 in: rank # of #: sum #", 0),
        (("1.25e+00", "nan"), "prints nan instead of", 0),
        (("rank 1 of 2", "rank 1 of 3"), "prints 3 instead of 2", 0),
        (("tiny 2e-17\n", ""), "prints 0 times instead of 1: tiny #", 0),
        (("tiny 2e-17\n", "tiny 2e-17\nwarning: 3\n"), "an additional line: warning: #", 0),
    ],
)
def test_results_of_two_builds(change: tuple[str, str], wrong: str, differing: int) -> None:
    found = compare(PLAIN, AGAIN, PLAIN.replace(*change) if change[0] else PLAIN)
    assert (wrong in found.wrong) if wrong else not found.wrong
    assert wrong or (found.compared == 7 and found.differing == differing)
    assert bool(found.where) == (found.largest > 0)


def test_what_prints_no_numbers_is_not_compared() -> None:
    assert compare("done\n", "done\n", "done\n").compared == 0
    assert compare("a 1\nb\n", "b\n", "b\n").compared == 0
    for line in ("3 s", "3s", "[ms] 3", "speed 3", "3 GB/s"):
        assert compare(line, line, line.replace("3", "4")).compared == 0
    assert "prints 4" in compare("s 3", "s 3", "s 4").wrong
