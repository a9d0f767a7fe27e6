# SPDX-License-Identifier: BSD-3-Clause
"""The table of tips. To add one: a file with a function from a `Situation` to settings, and a line.

Each is an experiment: it proposes settings that could help this program on this machine, or says
why it does not apply. Whether they help is measured. Tips that a finding of the launch speaks for
are tried first, as the budget may end.
"""

from tailrace.advice.tips import (
    allocators,
    binding,
    blas,
    collectives,
    compilers,
    eager,
    first_touch,
    flags,
    huge_pages,
    io,
    malloc,
    own_collectives,
    products,
    rank_order,
    single_copy,
    threads,
    waiting,
)
from tailrace.advice.tips.situation import Tip

TIPS = (
    Tip("waiting", waiting.propose, "how ranks and threads wait", ("oversubscribed", "spin")),
    Tip("binding", binding.propose, "ranks bound to cores", ("unbound", "numa")),
    Tip(
        "first touch",
        first_touch.propose,
        "in which NUMA domain memory is allocated",
        ("unbound", "numa"),
    ),
    Tip("rank order", rank_order.propose, "which ranks are neighbours"),
    Tip("threads", threads.propose, "threads of each rank", ("blas-threads", "shared-processor")),
    Tip(
        "huge pages",
        huge_pages.propose,
        "malloc asks for huge pages",
        ("page-faults", "huge-pages"),
    ),
    Tip("malloc", malloc.propose, "malloc keeps memory", ("page-faults",)),
    Tip("allocators", allocators.propose, "another malloc, where installed"),
    Tip("blas", blas.propose, "another BLAS, where installed", ("reference-blas",)),
    Tip("products", products.propose, "matrix products by Tailrace, by their shape"),
    Tip("eager", eager.propose, "size above which messages wait for their receiver"),
    Tip("collectives", collectives.propose, "algorithms of MPI that the tuner measured as fastest"),
    Tip(
        "own collectives",
        own_collectives.propose,
        "collective calls by Tailrace where they measure faster",
        ("oversubscribed",),
    ),
    Tip(
        "flags",
        flags.propose,
        "flags of the compiler, given --build",
        ("optimisation", "instructions"),
    ),
    Tip("compiler", compilers.propose, "another compiler that is installed, given --build"),
    Tip("io", io.propose, "how files are written: by which library, hidden or not"),
    Tip("single copy", single_copy.propose, "large messages on a node copied once or twice"),
)
