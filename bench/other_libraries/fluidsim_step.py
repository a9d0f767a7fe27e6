# SPDX-License-Identifier: BSD-3-Clause
"""Seconds of one RK4 step of Taylor-Green by fluidsim, printed as the line of JSON of a driver.

Run by ``tailrace bench step --fluidsim-python PYTHON``, with a Python that has fluidsim and a
fluidfft plugin (``pip install fluidsim fluidfft-fftw``, on several ranks also
``fluidfft-mpi_with_fftw``
and ``mpi4py``).
"""

import argparse
import contextlib
import io
import json
import os
import tempfile
import time


def main() -> None:
    """Time `--steps` steps after a few that do not count."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=128)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--fft", default="default", help="type_fft of fluidfft")
    parser.add_argument("--label", default="fluidsim, 1 process")
    args = parser.parse_args()
    os.environ.setdefault("FLUIDSIM_PATH", tempfile.mkdtemp())
    from fluiddyn.util import mpi  # noqa: PLC0415

    with contextlib.redirect_stdout(io.StringIO()):  # it prints much; ours is the last line
        sim = make_simulation(args.n, args.fft)
        start_energy = energy(sim)
        seconds = [one_step(sim, mpi) for _ in range(args.steps + 2)][2:]
        drift = abs(energy(sim) / start_energy - 1)
        scheme = f"{sim.params.oper.type_fft}, {sim.oper.shapeX_loc}"
    if mpi.rank == 0:
        print(
            json.dumps(
                {
                    "entry": args.label,
                    "seconds": seconds,
                    "energy_drift": drift,
                    "scheme": str(scheme),
                }
            ),
            flush=True,
        )


def make_simulation(n, type_fft):
    """Return a fluidsim solver that holds the Taylor-Green vortex at Re 1600."""
    import numpy as np  # noqa: PLC0415
    from fluidsim.solvers.ns3d.solver import Simul  # noqa: PLC0415

    params = Simul.create_default_params()
    params.oper.nx = params.oper.ny = params.oper.nz = n
    params.oper.Lx = params.oper.Ly = params.oper.Lz = 2 * np.pi
    params.oper.type_fft = type_fft
    params.oper.coef_dealiasing = 2.0 / 3
    params.nu_2 = 1.0 / 1600
    params.time_stepping.type_time_scheme = "RK4"
    params.time_stepping.USE_CFL = False
    params.time_stepping.deltat0 = 0.001
    params.time_stepping.USE_T_END = True
    params.init_fields.type = "in_script"
    params.output.HAS_TO_SAVE = False
    params.output.ONLINE_PLOT_OK = False
    sim = Simul(params)
    x, y, z = sim.oper.get_XYZ_loc()
    vx = np.sin(x) * np.cos(y) * np.cos(z)
    vy = -np.cos(x) * np.sin(y) * np.cos(z)
    sim.state.init_statephys_from(vx=vx, vy=vy, vz=np.zeros_like(vx))
    sim.state.statespect_from_statephys()
    return sim


def energy(sim) -> float:
    """Return the mean kinetic energy."""
    return float(sim.output.compute_energy())


def one_step(sim, mpi) -> float:
    """Return the seconds of one time step; ranks start together."""
    if mpi.nb_proc > 1:
        mpi.comm.Barrier()
    start = time.perf_counter()
    sim.time_stepping.one_time_step_computation()
    if mpi.nb_proc > 1:
        mpi.comm.Barrier()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
