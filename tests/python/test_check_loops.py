# SPDX-License-Identifier: BSD-3-Clause
"""Which loops of a program are hot, and what compilers say of them."""

import shutil
from pathlib import Path

import pytest

from tailrace.advice.builds import Builds
from tailrace.advice.loops import Loop, lines_of, read_remarks, read_samples, report
from tailrace.advice.runner import make_runner

GCC = """
src/a.c:9:15: missed: couldn't vectorize loop
src/a.c:9:15: missed: not vectorized: loop nest containing two or more consecutive inner loops
src/a.c:5:16: optimized: loop vectorized using 64 byte vectors
src/a.c:4:63: missed: couldn't vectorize loop
src/a.c:4:77: missed: not vectorized: no vectype for stmt: _29 = *_28;
 scalar_type: double
src/a.c:5:16: missed: couldn't vectorize loop
src/a.c:8:25: missed: statement clobbers memory: MPI_Init (&c, &v);
make: *** nothing
"""
CLANG = """
a.c:4:3: remark: loop not vectorized: value that could not be identified [-Rpass-analysis=loop-vectorize]
a.c:4:3: remark: loop not vectorized [-Rpass-missed=loop-vectorize]
a.c:9:3: remark: vectorized loop (vectorization width: 4, interleaved count: 2) [-Rpass=loop-vectorize]
"""  # noqa: E501
GPROF = """Flat profile:

  %   cumulative   self              self     total
 time   seconds   seconds    calls  Ts/call  Ts/call  name
 50.90      0.31     0.31                             rec (a.c:4 @ 4011a0)
 31.87      0.57     0.26                             rec (a.c:6 @ 4011d0)
 10.00      0.57     0.26                             rec (a.c:6 @ 4011e8)
  4.10      0.59     0.03      200     0.0      0.00  start (a.c:2 @ 40122b)
  3.13      0.61     0.02                             main (b.c:8 @ 4010a0)
"""


def test_remarks_of_gcc_and_clang() -> None:
    nest = "loop nest containing two or more consecutive inner loops"
    assert read_remarks(GCC) == [
        Loop("a.c", 4, False),
        Loop("a.c", 5, True),  # one copy of it is
        Loop("a.c", 9, False, nest),
    ]
    assert read_remarks(CLANG) == [
        Loop("a.c", 4, False, "value that could not be identified"),
        Loop("a.c", 9, True),
    ]


def test_samples_count_to_the_loop_before() -> None:
    samples = read_samples(GPROF)
    assert samples["a.c", 6] == pytest.approx(41.87)
    loops = [Loop("a.c", 4, False, "why"), Loop("a.c", 5, True), Loop("b.c", 9, True)]
    assert lines_of(loops, samples) == [
        "Loops of the program, by samples:",
        "  a.c:4  51 %  not vectorised: why",
        "  a.c:5  42 %  vectorised",
    ]
    assert "no remarks" in lines_of([], samples)[0] and "no samples" in lines_of(loops, {})[0]
    assert "libraries or other code do" in lines_of([Loop("c.c", 1, True)], samples)[0]


# Computes for a given time of the processor, so that samples are had on any machine.
PROGRAM = """
#include <stdio.h>
#include <time.h>
static double a[4096], b[4096];
int main(void) {
  for (int i = 0; i < 4096; ++i)
    a[i] = i % 7;
  while (clock() < 0.4 * CLOCKS_PER_SEC) {
    for (int k = 0; k < 100; ++k) {
      for (int i = 1; i < 4096; ++i)
        a[i] = a[i - 1] * 0.5 + a[i];
      for (int i = 0; i < 4096; ++i)
        b[i] += a[i];
    }
  }
  printf("%g\\n", b[9] > 0 ? 1.0 : 0.0);
}
"""


@pytest.mark.skipif(not (shutil.which("gcc") and shutil.which("gprof")), reason="gcc and gprof")
def test_loops_of_a_real_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_LAUNCHER", "env RANKS={ranks}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CFLAGS", raising=False)
    Path("app.c").write_text(PROGRAM)
    with Builds("gcc $CFLAGS app.c -o app", "./app") as builds:
        runner = make_runner(1, ["./app"], builds=builds)
        found = report(runner, {"CFLAGS": "-O3 -flto"})
        assert builds.made_by[0] == "gcc"
    assert found[0] == "Loops of the program, by samples:"
    by_line = {line.split()[0]: line for line in found[1:]}
    assert "not vectorised" in by_line["app.c:10"]
    assert all("not" not in line for at, line in by_line.items() if at == "app.c:12")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app", "app.c"]
    with Builds("gcc app.c -o app", "./app") as builds:
        runner = make_runner(1, ["./app"], builds=builds)
        assert "must link with CFLAGS, too" in report(runner, {"CFLAGS": "-O3"})[0]
