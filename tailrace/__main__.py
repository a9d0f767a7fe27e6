# SPDX-License-Identifier: BSD-3-Clause
"""The command ``tailrace``, also as ``python -m tailrace``."""

import signal


def main() -> None:
    """Run the command line. Ctrl-C ends it silently from here on, the imports included."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tailrace.cli import main as run_command_line  # noqa: PLC0415

    run_command_line()


if __name__ == "__main__":
    main()
