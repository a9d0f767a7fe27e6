# SPDX-License-Identifier: BSD-3-Clause
"""The option -n of commands that start ranks."""

from typing import Annotated

import typer

from tailrace.launch.launcher import job_tasks

RanksOption = Annotated[
    int,
    typer.Option(
        "-n",
        "--ranks",
        default_factory=job_tasks,
        show_default="the job's tasks, or 1",
        help="Number of MPI ranks.",
    ),
]
