# SPDX-License-Identifier: BSD-3-Clause
"""What holds for all tests in Python."""

import os
import signal
import sys
from collections.abc import Iterator

import pytest
import skips

# Shells start background jobs with Ctrl-C ignored, nohup does so with the hang-up, and programs
# hand that down: the tests of signals must not depend on how they are started. What is caught here
# has its usual effect in the programs that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# Each worker runs in a separate session, as launchers do in ctest (see tests/mpiexec.sh.in).
if "PYTEST_XDIST_WORKER" in os.environ and os.getpgrp() != os.getpid():
    os.setsid()


@pytest.fixture(autouse=True)
def _no_mpi_in_this_process() -> Iterator[None]:
    """A process that has started MPI cannot start jobs of mpirun any more, as later tests do."""
    yield
    assert "mpi4py.MPI" not in sys.modules, "this test started MPI in the process of all tests"


def _skips(config: pytest.Config) -> tuple[list[str], bool]:
    """Return lines about the skipped tests, and whether all are known; nothing where not asked."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("TAILRACE_TEST_SKIPS") != "check" or reporter is None:
        return [], True
    reasons = [
        test.longrepr[2].removeprefix("Skipped: ") for test in reporter.stats.get("skipped", [])
    ]
    return skips.report("pytest", reasons)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that skipped a test which tests/known_skips.txt does not list."""
    if not _skips(session.config)[1]:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Count the skipped tests."""
    for line in _skips(config)[0]:
        terminalreporter.write_line(line)
