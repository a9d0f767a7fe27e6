# SPDX-License-Identifier: BSD-3-Clause
"""The profile of an mpi4py script: its calls are shown at the lines of the script."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tailrace.errors import TailraceError
from tailrace.profile.job import family_of, find_library

pytest.importorskip("mpi4py")

# One call of each kind; says how often each was made on all ranks, as tests/plugins/mpi does.
EVERY_KIND = """\
from collections import Counter
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
last, next_ = (rank - 1) % ranks, (rank + 1) % ranks
counts = Counter()


def made(name, call, *words, **named):
    counts["MPI_" + name] += 1
    return call(*words, **named)


own, got = np.full(2, float(rank)), np.empty(2)
every = np.empty((ranks, 2))
made("Allreduce", world.Allreduce, own, got)
assert (got == sum(range(ranks))).all()
got[:] = own
made("Allreduce", world.Allreduce, MPI.IN_PLACE, got)
assert (got == sum(range(ranks))).all()
made("Reduce", world.Reduce, own, got)
made("Bcast", world.Bcast, got, 0)
made("Gather", world.Gather, own, every)
made("Gatherv", world.Gatherv, own, every)
made("Scatter", world.Scatter, every, got)
made("Scatterv", world.Scatterv, every, got)
made("Allgather", world.Allgather, own, every)
assert (every[:, 0] == range(ranks)).all()
every[rank] = own
made("Allgather", world.Allgather, MPI.IN_PLACE, every)
made("Allgatherv", world.Allgatherv, own, every)
assert (every[:, 1] == range(ranks)).all()
other = np.empty((ranks, 2))
made("Alltoall", world.Alltoall, every, other)
made("Alltoallv", world.Alltoallv, every, other)
assert (other == rank).all()
one = np.empty(1)
made("Reduce_scatter_block", world.Reduce_scatter_block, np.ones(ranks), one)
made("Reduce_scatter", world.Reduce_scatter, np.ones(ranks), one, [1] * ranks)
assert one[0] == ranks
made("Scan", world.Scan, own, got)
assert got[0] == sum(range(rank + 1))
made("Exscan", world.Exscan, own, got)
made("Barrier", world.Barrier)
made("Wait", made("Iallreduce", world.Iallreduce, own, got).Wait)
assert got[0] == sum(range(ranks))
made("Wait", made("Ibarrier", world.Ibarrier).Wait)

made("Sendrecv", world.Sendrecv, own, next_, 1, got, last, 1)
assert (got == last).all()
requests = [made("Irecv", world.Irecv, got, last, 2), made("Isend", world.Isend, own, next_, 2)]
made("Waitall", MPI.Request.Waitall, requests)
assert (got == last).all()
request = made("Irecv", world.Irecv, got, last, 3)
made("Ssend", world.Ssend, own, next_, 3)
made("Wait", request.Wait)
request = made("Isend", world.Isend, own, next_, 4)
made("Probe", world.Probe, last, 4)
made("Recv", world.Recv, got, last, 4)
made("Wait", request.Wait)
request = made("Isend", world.Isend, own, next_, 5)
message = made("Mprobe", world.Mprobe, last, 5)
made("Mrecv", message.Recv, got)
made("Wait", request.Wait)
send = made("Send_init", world.Send_init, own, next_, 6)
receive = made("Recv_init", world.Recv_init, got, last, 6)
made("Startall", MPI.Prequest.Startall, [send, receive])
made("Waitall", MPI.Request.Waitall, [send, receive])
assert (got == last).all()
made("Request_free", send.Free)
made("Request_free", receive.Free)

window = made("Win_create", MPI.Win.Create, got, comm=world)
made("Win_fence", window.Fence)
made("Put", window.Put, own, next_)
made("Win_fence", window.Fence)
assert (got == last).all()
made("Get", window.Get, own, next_)
made("Win_fence", window.Fence)
assert (own == rank).all()
made("Win_free", window.Free)
if rank == 0:
    for name, count in counts.items():
        print("MADE", name, count * ranks)
"""


SCRIPT = """\
from mpi4py import MPI
import numpy as np
from tailrace.profile.region import region

world = MPI.COMM_WORLD


def add():
    x, y = np.ones(4), np.empty(4)
    for _ in range(5):
        world.Allreduce(x, y)  # here
    return y


assert add()[0] == world.size
with region("talk"):
    world.bcast("text")
    with region("stop"):
        world.Barrier()
"""


# Work in functions of Python, and in numpy, whose shares are set by counts; the interpreter's time
# is that of the function it runs.
ROUTINES = """\
import threading

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD


def work(n):
    x = 1
    while n:
        n -= 1
        x = (x * 3 + n) & 1023
    return x


class Solver:
    def step(self, n):
        x = 1
        while n:
            n -= 1
            x = (x * 3 + n) & 1023
        return x


solver = Solver()
for _ in range(6):
    work(4_000_000 if world.rank == 0 else 8_000_000)
    solver.step(2_000_000)
    world.Barrier()
other = threading.Thread(target=work, args=(1000,))
other.start()
other.join()
"""


# A Python whose mpi4py was built with MPICH, where there is one beside that of Open MPI.
MPICH_PYTHON = os.environ.get("TAILRACE_MPICH_PYTHON", "/none")


def profile_of(text: str, python: str, folder: Path, *options: str) -> tuple[dict[str, Any], str]:
    """Return the profile of a script on 2 ranks, and what the script printed."""
    if not Path(python).is_file():
        pytest.skip("TAILRACE_MPICH_PYTHON names no Python with mpi4py for MPICH")
    family = family_of(Path(python)) or "openmpi"
    assert family == "mpich" or python == sys.executable
    try:
        find_library(family)
    except TailraceError as error:
        pytest.skip(str(error))
    script = folder / "script.py"
    script.write_text(text)
    written = folder / "profile.json"
    words = [sys.executable, "-m", "tailrace", "profile", "-n", "2", *options]
    words += ["--json", str(written), "--"]
    root = str(Path(__file__).resolve().parent.parent.parent)
    done = subprocess.run(
        [*words, python, str(script)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(written.read_text()), done.stdout


@pytest.mark.parametrize("python", [sys.executable, MPICH_PYTHON])
def test_calls_seen_are_calls_made(tmp_path: Path, python: str) -> None:
    profile, output = profile_of(EVERY_KIND, python, tmp_path)
    lines = [line.split() for line in output.splitlines() if line.startswith("MADE")]
    made = {name: int(count) for _, name, count in lines}
    assert len(made) > 30
    seen: Counter[str] = Counter()
    for call in profile["calls"]:
        seen[call["name"].removesuffix("_c")] += call["count"]
    assert seen == made


@pytest.mark.parametrize("python", [sys.executable, MPICH_PYTHON])
def test_calls_are_shown_at_lines_of_the_script(tmp_path: Path, python: str) -> None:
    profile, _ = profile_of(SCRIPT, python, tmp_path)
    # mpi4py takes the calls with large counts where MPI has them.
    calls = {call["name"].removesuffix("_c"): call for call in profile["calls"]}
    lines = SCRIPT.splitlines()
    line = lines.index("        world.Allreduce(x, y)  # here") + 1
    found = calls["MPI_Allreduce"]
    assert (found["where"], found["count"]) == (f"script.py:{line} add", 10)
    assert found["module"] == str(tmp_path / "script.py")
    line = lines.index('    world.bcast("text")') + 1
    assert calls["MPI_Bcast"]["where"].startswith(f"script.py:{line} ")
    assert calls["MPI_Barrier"]["count"] == 2
    assert not [file["path"] for file in profile["io"] if file["path"].endswith(".pyc")]
    assert [(r["name"], r["count"]) for r in profile["regions"]] == [("talk", 2), ("talk/stop", 2)]


@pytest.mark.parametrize("python", [sys.executable, MPICH_PYTHON])
def test_routines_of_a_script_are_its_functions(
    tmp_path: Path, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAILRACE_PROFILE", "routines=1000")
    profile, _ = profile_of(ROUTINES, python, tmp_path, "--routines")
    routines = {one["function"]: one for one in profile["routines"] if one["library"] == "Python"}
    notes = [note for note in profile["notes"] if "Python functions are not shown" in note]
    if sys.version_info[:2] != (3, 11):
        assert notes
        assert not routines
        return
    assert not notes
    work, step = routines["work"], routines["Solver.step"]
    lines = ROUTINES.splitlines()
    assert work["where"] == f"script.py:{lines.index('def work(n):') + 1}"
    assert step["where"] == f"script.py:{lines.index('    def step(self, n):') + 1}"
    # 4 + 8 units to 2 + 2, of the two ranks.
    assert 2 < work["time_s"] / step["time_s"] < 4.5
    assert work["slowest_rank"] == 1
    both = work["main"]["share"] + step["main"]["share"]
    assert both > 0.8, profile["routines"]
