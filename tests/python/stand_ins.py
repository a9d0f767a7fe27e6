# SPDX-License-Identifier: BSD-3-Clause
"""Scripts that stand for the launcher and for the simulation, and a look at the real programs."""

import os
import stat
from pathlib import Path

import pytest

from tailrace.errors import TailraceError
from tailrace.programs import find_program

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

# Stands for Slurm's commands: the ranks are no children of srun, and a signal to srun itself kills
# them.
FAKE_SLURM = {
    "srun": """#!/usr/bin/env bash
if [ "$1" = --mpi=list ]; then echo "MPI plugin types are... none pmix pmi2"; exit 0; fi
n=1
while [ "${1#-}" != "$1" ]; do
  case $1 in
    --job-name=*) echo "${1#*=}" > "$SLURM_FILES/step" ;;
    --ntasks=*) n=${1#*=} ;;
  esac
  shift
done
for ((rank = 0; rank < n; rank++)); do
  FAKE_RANK=$rank setsid -f sh -c 'echo $$ > "$SLURM_FILES/pid-$FAKE_RANK"; exec "$@"' sh "$@"
done
trap 'echo launcher killed >&2; kill -KILL $(cat "$SLURM_FILES"/pid-*); exit 99' TERM HUP INT
until [ "$(ls "$SLURM_FILES" | grep -c pid-)" = "$n" ]; do sleep 0.02; done
while kill -0 $(cat "$SLURM_FILES"/pid-*) 2> /dev/null; do sleep 0.05; done
""",
    "squeue": """#!/bin/sh
echo "7.3 another"
echo "7.5 $(cat "$SLURM_FILES/step")"
""",
    "scancel": """#!/bin/sh
echo "$*" >> "$SLURM_FILES/scancel"
kill -"${1#--signal=}" $(cat "$SLURM_FILES"/pid-*)
""",
    "scontrol": "#!/bin/sh\necho 'MpiDefault = pmix'\n",
}

# Stands for the simulation: tells progress, then does what the case file says.
FAKE_PROGRAM = """#!/usr/bin/env python3
import json, os, pathlib, signal, sys, time
case = pathlib.Path(sys.argv[1]).read_text()
if "--check" in sys.argv:
    if "# do: refuse" in case:
        sys.exit("tailrace-turbulence: error: unknown key `grid.m`: did you mean `grid.n`?")
    words = [word.partition("=")[2] for word in sys.argv if word.startswith("restart.file=")]
    print(f"[restart]\\nfile = {json.dumps((words or [''])[-1])}")
    one_thread = "# do: one thread" in case
    print('[case]\\napplication = "stand-in"' if one_thread else "[fft]\\nthreads = 1")
    sys.exit(0)
run_dir = pathlib.Path(sys.argv[sys.argv.index("--run-dir") + 1])
rank = int(os.environ.get("FAKE_RANK", 0))
run_dir.mkdir(parents=True, exist_ok=True)
(run_dir / f"arguments-{rank}.json").write_text(json.dumps(sys.argv[1:]))
asked = []
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda number, _: asked.append(signal.Signals(number).name))
(run_dir / "trace.json").write_text('{"traceEvents": []}')
if "# do: fail" in case:
    if rank == 0:
        print("tailrace-turbulence: [grid] n = 7: not so", file=sys.stderr)
    sys.exit(3)
if rank == 0:
    print(json.dumps({"step": 1, "steps": 2, "time": 0.5, "end": 1.0, "energy": 0.125,
                      "dt": 0.5, "seconds_per_step": 0.01, "eta_s": 0.01, "hidden_s": 0.2}),
          flush=True)
    print("a line that is no progress", flush=True)
    print(json.dumps({"step": 2, "steps": 2, "time": 1.0, "end": 1.0}), flush=True)
    print(json.dumps({"text": "done: step 2"}), flush=True)
modes = {"output.every=0": "none", "output.servers=none": "synchronous",
         "output.servers=hidden": "hidden", "output.servers=process": "servers"}
asked_for = [modes[word] for word in sys.argv if word in modes]
if asked_for and rank == 0:
    seconds = {"none": 2.0, "hidden": 2.1, "servers": 2.1, "synchronous": 3.0}[asked_for[-1]]
    if any(word.startswith("output.hints=") for word in sys.argv):
        seconds += {"hidden": 0.1, "servers": 0.2, "synchronous": 1.0}[asked_for[-1]]
    times = {"none": None, "hidden": None, "synchronous": None, asked_for[-1]: seconds}
    (run_dir / "summary.json").write_text(json.dumps({"times_s": times, "hidden_fraction": 0.9}))
    table = "step,time,energy,dissipation\\n0,0,0.125,0.1\\n1,1,0.1,0.1\\n"
    (run_dir / "statistics.csv").write_text(table)
    (run_dir / "fields").mkdir(exist_ok=True)
    if "checkpoint.at_end=true" in sys.argv:
        (run_dir / "checkpoint_000001.h5").touch()
if "# do: wait" in case:
    (run_dir / f"ready-{rank}").touch()
    for _ in range(600):
        if asked:
            (run_dir / f"checkpoint-{rank}").write_text(asked[0])
            sys.exit(0)
        time.sleep(0.05)
    sys.exit(5)
"""


def write_script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def is_built(name: str) -> bool:
    """Tell whether a program is built; true where `make test` says that all are."""
    try:
        find_program(name)
    except TailraceError:
        return "TAILRACE_BIN_DIR" in os.environ
    return True


def built(name: str) -> None:
    """Skip the test if the program is not built."""
    try:
        find_program(name)
    except TailraceError as error:
        if "TAILRACE_BIN_DIR" in os.environ:  # as `make test` sets it: nothing may be missing
            raise
        pytest.skip(str(error))
