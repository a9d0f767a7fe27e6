# SPDX-License-Identifier: BSD-3-Clause
"""A small run folder made by hand, and a stage with stand-ins for launcher and program."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from stand_ins import FAKE_MPIRUN, FAKE_PROGRAM, write_script


@pytest.fixture(autouse=True)
def no_tuning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs measure no methods, and leave the user's memory of winners alone."""
    monkeypatch.setenv("TAILRACE_TUNE", "off")


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


@pytest.fixture
def plain_launcher(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A launcher that starts one process."""
    monkeypatch.setenv("TAILRACE_LAUNCHER", "env RANKS={ranks}")
    monkeypatch.chdir(tmp_path)
    return tmp_path
