# SPDX-License-Identifier: BSD-3-Clause
"""Other allocators, put before glibc's: jemalloc, tcmalloc, mimalloc."""

import re

from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation

KNOWN = {
    "jemalloc": r"libjemalloc\.so\.\d+",
    "tcmalloc": r"libtcmalloc(_minimal)?\.so\.\d+",
    "mimalloc": r"libmimalloc\.so\.[\d.]+",
}


def propose(situation: Situation) -> list[Setting]:
    """Propose each that is installed."""
    if situation.loaded("lib(jemalloc|tcmalloc|mimalloc)"):
        raise DoesNotApplyError("the program contains its own allocator")
    found = []
    for name, pattern in KNOWN.items():
        paths = [p for file, p in situation.installed.items() if re.fullmatch(pattern, file)]
        if paths:
            found.append(Setting(name, {"LD_PRELOAD": situation.preloaded(paths[0])}))
    if not found:
        raise DoesNotApplyError("no other allocator found (Debian: libjemalloc2, libmimalloc2.0)")
    return found
