# SPDX-License-Identifier: BSD-3-Clause
"""All figures, in the order of the studies. A line here and a function make a new one."""

import difflib
import time
from dataclasses import replace

from tailrace.errors import TailraceError
from tailrace.reproduce import blue_waters, groundwater, helium, rank_order, xe6
from tailrace.reproduce.figure import Figure, Row

SERVERS = "I/O servers for HELIUM"
XE6 = "I/O on the XE6"
PSDNS = "PSDNS on Blue Waters"
TUNING = "Tuning top ten"
PFLOTRAN = "PFLOTRAN"
SHAPE = "curve without values"

FIGURES = [
    Figure(
        "checkpoint_share",
        SERVERS,
        "share of the wall time in checkpoints: 46,340 cores, 100 MB each, every 10 minutes",
        "share",
        helium.MOST_CORES * helium.SHARE_BYTES / 10e9 / helium.INTERVAL_S,
        "follows from cores x 100 MB / 10 GB/s",
        helium.checkpoint_share,
    ),
    Figure(
        "checkpoint_time",
        SERVERS,
        "time of a checkpoint on 65,536 processors without servers",
        "s",
        None,
        SHAPE,
        helium.checkpoint_time,
    ),
    Figure(
        "run_time",
        SERVERS,
        "run time on 32,768 processors without servers",
        "s",
        None,
        SHAPE,
        helium.run_time,
    ),
    Figure(
        "average_step",
        SERVERS,
        "average step, MPI servers / SHMEM servers",
        "times",
        9.31 / 9.72,
        "9.31 s, 9.72 s",
        helium.average_step,
    ),
    Figure(
        "disturbance_mpi",
        SERVERS,
        "steps during I/O cost more, MPI servers",
        "%",
        2.33,
        "2.33 %",
        helium.disturbance_mpi,
    ),
    Figure(
        "disturbance_shmem",
        SERVERS,
        "steps during I/O cost more, one-sided servers",
        "%",
        0.19,
        "0.19 %",
        helium.disturbance_shmem,
    ),
    Figure(
        "steps_without_io_mpi",
        SERVERS,
        "steps that met no I/O, MPI servers",
        "share",
        0.86,
        "86 %",
        helium.steps_without_io_mpi,
        comparable=False,
    ),
    Figure(
        "steps_without_io_shmem",
        SERVERS,
        "steps that met no I/O, one-sided servers",
        "share",
        0.75,
        "75 %",
        helium.steps_without_io_shmem,
        comparable=False,
    ),
    Figure(
        "halved_bandwidth_write",
        SERVERS,
        "time of a write if another job takes half the bandwidth / alone",
        "times",
        2.0,
        "doubles",
        helium.halved_bandwidth_write,
    ),
    Figure(
        "halved_bandwidth_run",
        SERVERS,
        "run time with servers if another job takes half the bandwidth / alone",
        "times",
        1.0,
        "unchanged",
        helium.halved_bandwidth_run,
    ),
    Figure(
        "extra_nodes",
        SERVERS,
        "extra nodes for servers",
        "%",
        1.5,
        "1 to 2 %",
        helium.extra_nodes,
    ),
    Figure(
        "striping",
        XE6,
        "run time with 4 stripes / all targets: 850 GB, 6,000 cores",
        "times",
        1800 / 625,
        "1,800 s, 625 s",
        xe6.striping,
    ),
    Figure(
        "one_writer",
        XE6,
        "bandwidth of one writer on 160 targets",
        "MB/s",
        None,
        SHAPE,
        xe6.one_writer,
    ),
    Figure(
        "aggregators",
        XE6,
        "strided file of 96 GB, pieces of 10,000 B, each aggregator the same stripes",
        "s",
        None,
        SHAPE,
        xe6.aggregators,
    ),
    Figure(
        "hdf5_dump",
        XE6,
        "dump of 6.4 GiB from 8,000 processes without collective buffering",
        "s",
        300.0,
        "over 5 minutes",
        xe6.hdf5_dump,
        comparable=False,
    ),
    Figure(
        "placement",
        PSDNS,
        "step on 6 x 24 x 24 / 23 x 6 x 24 routers",
        "times",
        35.3 / 21.5,
        "35.3 s, 21.5 s",
        blue_waters.placement,
    ),
    Figure(
        "placement_output",
        PSDNS,
        "step with output on 6 x 24 x 24 / 23 x 6 x 24 routers",
        "times",
        67.9 / 48.0,
        "67.9 s, 48.0 s",
        blue_waters.placement_output,
    ),
    Figure(
        "slabs",
        PSDNS,
        "run time without / with whole planes on a node, 3,072 nodes",
        "times",
        1.72,
        "up to 1.72x",
        blue_waters.slabs,
    ),
    Figure(
        "random_nodes",
        PSDNS,
        "run time without / with randomly spread nodes, 3,072 of 4,500",
        "times",
        1 / 0.79,
        "21 % less",
        blue_waters.random_nodes,
    ),
    Figure(
        "random_list",
        PSDNS,
        "run time without / with a random list of 12,000 nodes",
        "times",
        1.46,
        "1.46x",
        blue_waters.random_list,
    ),
    Figure(
        "random_pull",
        PSDNS,
        "run time without / with random pull in chunks, 4,096 nodes",
        "times",
        1 / 0.67,
        "33 % less",
        blue_waters.random_pull,
    ),
    Figure(
        "kept_memory",
        PSDNS,
        "run time without / with memory kept between calls",
        "times",
        1 / 0.85,
        "10 to 20 % less",
        blue_waters.kept_memory,
    ),
    Figure(
        "all_together",
        PSDNS,
        "placement, slabs and pull together",
        "times",
        1.4 * 1.4 * 1.3,
        "1.4 x 1.4 x 1.3, a product that was not measured",
        blue_waters.all_together,
        comparable=False,
    ),
    Figure(
        "gyro_round_robin",
        TUNING,
        "communication of GYRO, 1,024 processes: SMP / round-robin order",
        "times",
        11.26 / 6.94,
        "11.26 s, 6.94 s",
        rank_order.gyro_round_robin,
    ),
    Figure(
        "gyro_folded",
        TUNING,
        "communication of GYRO, 1,024 processes: SMP / folded order",
        "times",
        11.26 / 6.68,
        "11.26 s, 6.68 s",
        rank_order.gyro_folded,
    ),
    Figure(
        "tgyro",
        TUNING,
        "TGYRO, default / round-robin order, mean of three numbers of cores",
        "times",
        (99 / 66 + 104 / 63 + 105 / 72) / 3,
        "99 / 66, 104 / 63, 105 / 72 minutes",
        rank_order.tgyro,
        comparable=False,
    ),
    Figure(
        "grouped_reading",
        PFLOTRAN,
        "reading by all processes / by one per group",
        "times",
        25.0,
        "25x",
        groundwater.grouped_reading,
    ),
    Figure(
        "grouped_writing",
        PFLOTRAN,
        "collective HDF5 / writing by one per group",
        "times",
        3.0,
        "3x",
        groundwater.grouped_writing,
    ),
    Figure(
        "whole_application",
        PFLOTRAN,
        "whole application before / after both",
        "times",
        5.0,
        "5x",
        groundwater.whole_application,
    ),
    Figure(
        "allreduces",
        PFLOTRAN,
        "reductions of 8 B on 8,000 cores",
        "calls",
        113_070.0,
        "113,070",
        groundwater.allreduces,
    ),
    Figure(
        "allreduce_variants",
        PFLOTRAN,
        "150,000 reductions on 131,064 cores, direct / through the nodes",
        "times",
        None,
        SHAPE,
        groundwater.allreduce_variants,
    ),
]


def find_figure(name: str) -> Figure:
    """Return the figure of that name."""
    known = {figure.name: figure for figure in FIGURES}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else "; --list names all"
    raise TailraceError(f"{name}: no such figure{hint}", status=2)


def compute(figure: Figure) -> Row:
    """Run the model of a figure."""
    start = time.perf_counter()
    row = Row(figure, figure.compute())
    return replace(row, seconds=time.perf_counter() - start)
