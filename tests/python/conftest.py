# SPDX-License-Identifier: BSD-3-Clause
"""A small run folder made by hand, and stand-ins for launcher and program."""

import json
import stat
from pathlib import Path

import h5py
import numpy as np
import pytest

# Stands for mpirun: tells that it is Open MPI, starts the program -n times, ends as the first does.
FAKE_MPIRUN = """#!/usr/bin/env bash
if [ "$1" = --version ]; then echo "mpirun (Open MPI) 4.1.4"; exit 0; fi
n=1
while [ "${1#-}" != "$1" ]; do
  case $1 in
    -n) n=$2; shift 2 ;;
    --bind-to) shift 2 ;;
    *) shift ;;
  esac
done
pids=()
for ((rank = 0; rank < n; rank++)); do FAKE_RANK=$rank "$@" & pids+=($!); done
trap 'echo launcher killed >&2; kill -KILL "${pids[@]}"; exit 99' TERM
status=0
for pid in "${pids[@]}"; do
  wait "$pid" || status=$?
done
exit $status
"""

# Stands for the simulation: tells progress, then does what the case file says.
FAKE_PROGRAM = """#!/usr/bin/env python3
import json, os, pathlib, signal, sys, time
case = pathlib.Path(sys.argv[1]).read_text()
run_dir = pathlib.Path(sys.argv[sys.argv.index("--run-dir") + 1])
rank = int(os.environ.get("FAKE_RANK", 0))
run_dir.mkdir(parents=True, exist_ok=True)
(run_dir / f"arguments-{rank}.json").write_text(json.dumps(sys.argv[1:]))
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
if "# do: fail" in case:
    if rank == 0:
        print("tailrace-turbulence: [grid] n = 7: not so", file=sys.stderr)
    sys.exit(3)
if rank == 0:
    print(json.dumps({"step": 1, "steps": 2, "time": 0.5, "end": 1.0, "energy": 0.125,
                      "dt": 0.5, "seconds_per_step": 0.01, "eta_s": 0.01, "hidden_s": 0.2}),
          flush=True)
    print("a line that is no progress", flush=True)
modes = [word.partition("=")[2] for word in sys.argv if word.startswith("output.mode=")]
if modes and rank == 0:
    seconds = {"none": 2.0, "hidden": 2.1, "synchronous": 3.0}[modes[-1]]
    times = {"none": None, "hidden": None, "synchronous": None, modes[-1]: seconds}
    (run_dir / "summary.json").write_text(json.dumps({"times_s": times, "hidden_fraction": 0.9}))
    table = "step,time,energy,dissipation\\n0,0,0.125,0.1\\n1,1,0.1,0.1\\n"
    (run_dir / "statistics.csv").write_text(table)
    (run_dir / "fields").mkdir(exist_ok=True)
if "# do: wait" in case:
    (run_dir / f"ready-{rank}").touch()
    for _ in range(600):
        if asked:
            (run_dir / f"checkpoint-{rank}").touch()
            sys.exit(0)
        time.sleep(0.05)
    sys.exit(5)
"""


def write_script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a stand-in launcher first on PATH and a stand-in program."""
    tools = tmp_path / "tools"
    tools.mkdir()
    write_script(tools / "mpirun", FAKE_MPIRUN)
    write_script(tools / "tailrace-turbulence", FAKE_PROGRAM)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("TAILRACE_BIN_DIR", str(tools))
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.delenv("TAILRACE_LAUNCHER", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _spans(rank: int) -> list[dict[str, object]]:
    spans = []
    for step in range(20):
        start = step * 5e4
        for name, cat, begin, length, track in (
            ("step", "compute", 0.0, 5e4, 0),
            ("transpose", "transfer", 1e4, 1e4, 0),
            ("peer", "wait", 1.5e4, 2e3, 0),
        ):
            spans.append((name, cat, start + begin, length, track))
    spans += [("file", "write", at, 1.5e5, 1) for at in (1e5, 6e5)]
    return [
        {"name": n, "cat": c, "ph": "X", "ts": t, "dur": d, "pid": rank, "tid": k}
        for n, c, t, d, k in spans
    ]


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A finished run as the program leaves it, small."""
    folder = tmp_path / "run"
    (folder / "fields").mkdir(parents=True)
    (folder / "case.toml").write_text(
        '[case]\nname = "tg"\n[grid]\nn = 16\n[flow]\nreynolds = 1600.0\ninitial = "taylor_green"\n'
    )
    times = np.linspace(0, 1, 11)
    lines = ["step,time,energy,dissipation,enstrophy"]
    lines += [f"{i},{t:.17g},{0.125 - 0.0005 * t:.17g},0.0005,0.4" for i, t in enumerate(times)]
    (folder / "statistics.csv").write_text("\n".join(lines) + "\n")
    lines = ["step,time,k,E"]
    lines += [f"{s},{s / 10},{k},{(k + 1.0) ** (-5 / 3)}" for s in (0, 5, 10) for k in range(6)]
    (folder / "spectrum.csv").write_text("\n".join(lines) + "\n")
    summary = {"times_s": {"none": 1.0, "synchronous": 1.9, "hidden": 1.02}, "hidden_fraction": 0.9}
    (folder / "summary.json").write_text(json.dumps({**summary, "stall_s": 0.0, "ranks": 2}))
    trace = {"traceEvents": [span for rank in range(2) for span in _spans(rank)]}
    (folder / "trace.json").write_text(json.dumps(trace))
    x = 2 * np.pi * np.arange(16) / 16
    zz, yy, xx = np.meshgrid(x, x, x, indexing="ij")
    with h5py.File(folder / "fields" / "tg_0000010.h5", "w") as file:
        file["u"] = np.sin(xx) * np.cos(yy) * np.cos(zz)
        file["v"] = -np.cos(xx) * np.sin(yy) * np.cos(zz)
        file["w"] = np.zeros_like(xx)
        for name in "xyz":
            file[name] = x
        file.attrs["time"] = 1.0
    return folder
