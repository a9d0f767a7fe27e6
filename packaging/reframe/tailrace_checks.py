# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame tests of an installed Tailrace (ReFrame 4.4 or newer).

    reframe -C SITE.py -c packaging/reframe/tailrace_checks.py -r
    reframe -c packaging/reframe/tailrace_checks.py -r      # on this machine, with tailrace on PATH

`-S tailrace_module=tailrace/0.2.0` names another module, `-S num_tasks=64` the number of ranks.
"""

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import performance_function, run_before, sanity_function, variable


@rfm.simple_test
class HiddenOutputOfOwnProgram(rfm.RegressionTest):
    """Compiles an example in C with the flags of `tailrace config`; its output is hidden."""

    descr = "A C program that is linked with Tailrace writes files while it computes"
    tailrace_module = variable(str, value="tailrace")
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    num_tasks = 2
    sourcesdir = "../../examples"
    build_system = "CustomBuild"
    executable = "./heat"

    @run_before("setup")
    def load_module(self) -> None:
        self.modules = [self.tailrace_module]

    @run_before("compile")
    def name_flags(self) -> None:
        self.build_system.commands = [
            "mpicc -O2 heat.c $(tailrace config --cflags --libs) -lm -o heat"
        ]

    @run_before("run")
    def check_the_file(self) -> None:
        self.postrun_cmds = ["tailrace verify heat_40.h5"]

    @sanity_function
    def solution_is_exact(self) -> bool:
        error = sn.extractsingle(
            r"difference from the exact solution: (\S+)", self.stdout, 1, float
        )
        return sn.and_(sn.assert_lt(error, 1e-12), sn.assert_found(r"heat_40.h5", self.stdout))


@rfm.simple_test
class RunOfACase(rfm.RunOnlyRegressionTest):
    """Runs a shipped case; the command starts the ranks itself, by srun in a job of Slurm."""

    descr = "A run of the Taylor-Green vortex with hidden output"
    tailrace_module = variable(str, value="tailrace")
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    num_tasks = 2
    executable = "tailrace"
    run_folder = variable(str, value="run")

    @run_before("setup")
    def load_module(self) -> None:
        self.modules = [self.tailrace_module]

    @run_before("run")
    def set_options(self) -> None:
        self.job.launcher = getlauncher("local")()
        words = (
            f"run taylor_green -n {self.num_tasks} -o {self.run_folder} --set grid.n=32 "
            "--set time.step=0.01 --set time.end=0.5 --set output.every=10"
        )
        self.executable_opts = words.split()
        self.postrun_cmds = [f"tailrace verify {self.run_folder}/fields/*.h5"]

    @sanity_function
    def ends_with_the_known_energy(self) -> bool:
        # The energy is 1/8 at the start; viscosity has taken little of it.
        energy = sn.extractall(r"energy (\S+)", self.stdout, 1, float)
        return sn.and_(
            sn.assert_found(r"done: step 50,", self.stdout),
            sn.assert_bounded(energy[-1], 0.12, 0.125),
        )

    @performance_function("s")
    def time_of_a_step(self) -> float:
        return sn.extractall(r"(\S+) s/step", self.stdout, 1, float)[-1]
