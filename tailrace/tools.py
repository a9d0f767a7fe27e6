# SPDX-License-Identifier: BSD-3-Clause
"""Tools of the system, such as nm or scontrol, and what they print."""

import subprocess


def run_tool(
    *words: str, timeout_s: float = 30, text: str | None = None
) -> "subprocess.CompletedProcess[str] | None":
    """Return what a tool printed and how it ended; None if it does not run or end in time."""
    try:
        return subprocess.run(
            words,
            input=text,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
