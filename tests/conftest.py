# SPDX-License-Identifier: BSD-3-Clause
"""What holds for all tests in Python."""

import signal
import sys
from collections.abc import Iterator

import pytest

# Shells start background jobs with Ctrl-C ignored, nohup does so with the hang-up, and programs
# hand that down: the tests of signals must not depend on how they are started. What is caught here
# has its usual effect in the programs that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.fixture(autouse=True)
def _no_mpi_in_this_process() -> Iterator[None]:
    """A process that has started MPI cannot start jobs of mpirun any more, as later tests do."""
    yield
    assert "mpi4py.MPI" not in sys.modules, "this test started MPI in the process of all tests"
