# SPDX-License-Identifier: BSD-3-Clause
"""Another BLAS before the one that the program loads."""

import re

from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation

KNOWN = {
    "OpenBLAS": r"libopenblas\.so\.0",
    "BLIS": r"libblis\.so\.\d+",
    "MKL": r"libmkl_rt\.so(\.\d+)?",
}


def propose(situation: Situation) -> list[Setting]:
    """Propose each that is installed and not loaded; one thread each if there are several ranks."""
    if not situation.loaded(r"lib(blas|lapack)\.so|libopenblas|libblis|libmkl_rt"):
        raise DoesNotApplyError("the program loads no BLAS")
    alone = len(situation.launch.ranks) == 1
    found = []
    for name, pattern in KNOWN.items():
        if situation.loaded(pattern):
            continue
        paths = [p for file, p in situation.installed.items() if re.fullmatch(pattern, file)]
        if paths:
            threads = {} if alone else {f"{name.upper()}_NUM_THREADS": "1"}
            found.append(Setting(name, {"LD_PRELOAD": situation.preloaded(paths[0]), **threads}))
    if not found:
        raise DoesNotApplyError("no other BLAS is installed")
    return found
