# SPDX-License-Identifier: BSD-3-Clause
"""What mpirun adds below a program's own message is left out, and nothing else."""

from tailrace.launch.stderr_filter import without_noise

RULE = "-" * 74 + "\n"
EXITED = [
    RULE,
    "Primary job  terminated normally, but 1 process returned\n",
    "a non-zero exit code. Per user-direction, the job has been aborted.\n",
    RULE,
    RULE,
    "mpirun detected that one or more processes exited with non-zero status, thus causing\n",
    "the job to be terminated. The first process to do so was:\n",
    "\n",
    "  Process name: [[7216,1],0]\n",
    "  Exit code:    3\n",
    RULE,
]
ABORTED = [
    RULE,
    "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\n",
    "with errorcode 4.\n",
    RULE,
    "[vm:28951] 2 more processes have sent help message help-mpi-api.txt / mpi-abort\n",
    "[vm:1] [[7689,0],0] ORTE_ERROR_LOG: Out of resource in file ../orte/util/show_help.c at 501\n",
    '[vm:28951] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help\n',
]
LAUNCH_ERROR = [
    RULE,
    "mpirun was unable to launch the specified application as it could not access\n",
    "or execute an executable:\n",
    RULE,
]


def test_only_the_program_speaks_when_it_fails() -> None:
    own = ["tailrace-turbulence: no such key\n", "[vm] a line in brackets\n", "---\n"]
    for noise in (EXITED, ABORTED, EXITED + ABORTED):
        assert list(without_noise(own + noise)) == own
        assert list(without_noise(noise + own)) == own


def test_errors_of_the_launcher_are_kept() -> None:
    assert list(without_noise(LAUNCH_ERROR + EXITED)) == LAUNCH_ERROR


def test_lines_are_passed_on_at_once() -> None:
    taken = []

    def lines():  # type: ignore[no-untyped-def]
        for line in ("one\n", "two\n"):
            taken.append(line)
            yield line

    assert next(without_noise(lines())) == "one\n"
    assert taken == ["one\n"]


def test_stream_that_ends_inside_a_box() -> None:
    assert list(without_noise([*EXITED[:3]])) == []
    assert list(without_noise(LAUNCH_ERROR[:2])) == LAUNCH_ERROR[:2]
