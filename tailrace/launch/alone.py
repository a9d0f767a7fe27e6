# SPDX-License-Identifier: BSD-3-Clause
"""Small programs of the library that run on one process, without MPI."""

import subprocess

from tailrace.launch.launcher import find_launcher
from tailrace.programs import find_program


def run_alone(name: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run the program `name` and return what it printed and how it ended."""
    command = [str(find_program(name)), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 and not done.stderr.startswith(f"{name}: "):
        # Some MPI libraries start no program without their launcher.
        command = [*find_launcher(1, 1).prefix, *command]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done
