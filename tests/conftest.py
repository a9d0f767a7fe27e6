# SPDX-License-Identifier: BSD-3-Clause
"""What holds for all tests in Python."""

import signal

# Shells start background jobs with Ctrl-C ignored, and programs hand that down: the tests of
# Ctrl-C must not depend on how they are started.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
