# SPDX-License-Identifier: BSD-3-Clause
"""The model: one interval of computing and its output, for each method of output.

How long writing takes is asked of `tailrace/planning/writing.py`, whatever is known of the file
system: two bandwidths, or a description with targets, metadata, locks and clients.
"""

import math
from dataclasses import dataclass, replace

from tailrace.errors import TailraceError
from tailrace.planning.file_system import FileSystem, two_numbers
from tailrace.planning.writing import Cost, Pattern, cost, costs


@dataclass(frozen=True)
class Job:
    """What is run. Units: bytes, seconds, bytes/s."""

    ranks: int
    ranks_per_node: int
    bytes_per_output: float  # of all ranks together
    interval: int  # steps from one output to the next
    step_s: float  # time of a step without output, on `ranks` ranks
    steps: int = 0  # of the whole run; 0: 1000 outputs

    def nodes(self) -> int:
        """Nodes that compute."""
        return -(-self.ranks // self.ranks_per_node)

    def compute_s(self) -> float:
        """Computing from one output to the next."""
        return self.interval * self.step_s

    def outputs(self) -> int:
        """Outputs of the whole run."""
        return self.steps // self.interval if self.steps else 1000


@dataclass(frozen=True)
class Machine:
    """What it runs on. Units: bytes, bytes/s."""

    writer: float  # one writer alone
    file_system: float  # all writers together
    load: float = 0.0  # share of the file system that others take
    memory: float = 8e9  # staging memory of a node
    copy: float = 10e9  # all ranks of a node together copying into it
    network: float = 10e9  # into or out of a node
    disturbance: float = 0.0019  # share by which transfers slow the computing meanwhile
    server_core: float = 2e9  # bytes/s that one core of a server handles
    writers_per_node: int = 4  # of a run without servers
    servers_per_node: int = 1  # of nodes of their own
    storage: FileSystem | None = None  # known in more detail than by the two bandwidths
    piece_bytes: float = 0.0  # contiguous bytes of a rank in a shared file; 0: all it writes

    def open_bandwidth(self) -> float:
        """What others leave of the file system."""
        return self.file_system * (1 - self.load)

    def described(self) -> FileSystem:
        """Return the description that writing is priced with."""
        return self.storage or two_numbers(self.writer, self.file_system, self.load)


@dataclass(frozen=True)
class Outcome:
    """What one method of output costs, per interval unless said otherwise."""

    kind: str  # "none", "thread", "own_nodes" or "spread"
    servers: int
    compute_s: float  # of an interval; more than the job's where servers take ranks
    hand_over_s: float  # copying, and slower computing while data moves
    stall_s: float  # waiting for room
    write_s: float  # of one output
    period_s: float  # from one output to the next
    lost: float  # share of the time that the run would not need without output
    hidden: bool  # nothing is waited for
    safe_s: float  # from the call that writes until the data is on disk
    lost_work_s: float  # time whose work is lost if a node dies at the worst moment
    outage_s: float  # outage of the file system that the staging memory rides out
    nodes: int
    node_hours: float  # of the whole run
    note: str = ""


def check(job: Job, machine: Machine) -> None:
    """Raise `TailraceError` for values that mean nothing, naming them."""
    for name in ("ranks", "ranks_per_node", "interval"):
        value = getattr(job, name)
        if value < 1:
            raise TailraceError(f"{name} = {value}: expected 1 or more", status=2)
    if not job.step_s > 0:
        raise TailraceError(f"time of a step = {job.step_s:g} s: expected more than 0", status=2)
    if job.steps and job.steps < job.interval:
        raise TailraceError(
            f"{job.steps} steps: the run ends before the first output, at an interval of "
            f"{job.interval} steps",
            status=2,
        )
    if not 0 <= machine.load < 1:
        raise TailraceError(
            f"load by others = {machine.load:g}: expected a share from 0 to less than 1", status=2
        )
    if not 0 <= machine.disturbance < 1:
        raise TailraceError(
            f"disturbance = {machine.disturbance:g}: expected a share from 0 to less than 1",
            status=2,
        )


def on_machine(storage: FileSystem) -> Machine:
    """Return a machine whose bandwidths are those of a described file system."""
    clients = storage.clients
    whole = storage.bandwidth()
    writer = min(clients.process_bytes_per_s, clients.node_bytes_per_s, whole)
    return Machine(writer, whole, storage.load.mean, storage=storage)


def strategies(job: Job, machine: Machine) -> list[Cost]:
    """Return what each way of writing without servers costs, fastest first.

    Two bandwidths tell the ways apart by the number of writers only, so that is one way.
    """
    pattern = Pattern(
        job.ranks, job.ranks_per_node, job.bytes_per_output, piece_bytes=machine.piece_bytes
    )
    if machine.storage is None:
        writers = min(job.ranks, machine.writers_per_node * job.nodes())
        gathered = replace(pattern, strategy="aggregated", writers=writers)
        return [cost(machine.described(), gathered)]
    return costs(machine.storage, pattern, ("file_per_process", "shared", "aggregated"))


def synchronous(job: Job, machine: Machine) -> Outcome:
    """Nobody computes while the ranks themselves write, in the fastest way."""
    fastest = strategies(job, machine)[0]
    write_s = fastest.seconds
    compute_s = job.compute_s()
    period_s = compute_s + write_s
    return Outcome(
        kind="none",
        servers=0,
        compute_s=compute_s,
        hand_over_s=0.0,
        stall_s=write_s,
        write_s=write_s,
        period_s=period_s,
        lost=1 - compute_s / period_s,
        hidden=False,
        safe_s=write_s,
        lost_work_s=period_s + write_s,
        outage_s=0.0,
        nodes=job.nodes(),
        node_hours=job.nodes() * job.outputs() * period_s / 3600,
        note=fastest.strategy.replace("_", " ") if machine.storage else "",
    )


def threads(job: Job, machine: Machine) -> Outcome:
    """A thread of each node writes; it takes processor time from the ranks beside it."""
    nodes = job.nodes()
    core_s = job.bytes_per_output / nodes / machine.server_core / job.ranks_per_node
    return _with_servers(job, machine, "thread", nodes, core_s, machine.server_core)


def servers(job: Job, machine: Machine, number: int, placement: str = "own_nodes") -> Outcome:
    """`number` ranks that serve: on nodes of their own, or taken from those that compute."""
    if number < 1 or (placement == "spread" and number >= job.ranks):
        raise TailraceError(
            f"{number} servers of {job.ranks} ranks: at least one of each is needed", status=2
        )
    if placement == "own_nodes":
        receive = machine.network / min(machine.servers_per_node, number)
    else:
        on_node = -(-number // job.nodes())
        receive = machine.network / on_node if job.nodes() > 1 else machine.copy / on_node
    transfer_s = job.bytes_per_output / (number * receive)
    slower_s = machine.disturbance * min(transfer_s, job.compute_s())
    return _with_servers(job, machine, placement, number, slower_s, receive)


def _with_servers(
    job: Job, machine: Machine, kind: str, number: int, slower_s: float, receive: float
) -> Outcome:
    size = job.bytes_per_output
    nodes = job.nodes()
    extra = -(-number // machine.servers_per_node) if kind == "own_nodes" else 0
    compute_s = job.compute_s()
    if kind == "spread":
        compute_s *= job.ranks / (job.ranks - number)
    hand_over_s = size / (nodes * machine.copy) + slower_s
    written = _served(job, machine, number, receive)
    write_s = written.seconds
    drain = size / write_s
    memory = nodes * machine.memory
    busy_s = compute_s + hand_over_s
    period_s = max(busy_s + max(0.0, size - memory) / drain, write_s)
    behind = write_s > busy_s
    # Where the disk cannot keep up, the staging memory is full when the call returns.
    waiting = max(memory, size) if behind else size
    safe_s = hand_over_s + waiting / drain
    rate = size / period_s
    return Outcome(
        kind=kind,
        servers=number,
        compute_s=compute_s,
        hand_over_s=hand_over_s,
        stall_s=period_s - busy_s,
        write_s=write_s,
        period_s=period_s,
        lost=1 - job.compute_s() / period_s,
        hidden=period_s <= busy_s,
        safe_s=safe_s,
        lost_work_s=period_s + safe_s,
        outage_s=max(0.0, memory - size) / rate,
        nodes=nodes + extra,
        node_hours=(nodes + extra) * (job.outputs() * period_s + safe_s) / 3600,
        note=_note(behind, at_limit=written.limit() != "clients", fits=memory >= size),
    )


def _served(job: Job, machine: Machine, number: int, receive: float) -> Cost:
    """Return what it costs servers to write an output; none writes faster than it receives."""
    system = machine.described()
    rate = min(system.clients.process_bytes_per_s, receive)
    system = replace(system, clients=replace(system.clients, process_bytes_per_s=rate))
    pattern = Pattern(job.ranks, job.ranks_per_node, job.bytes_per_output, "servers")
    return cost(system, replace(pattern, writers=number))


def _note(behind: bool, at_limit: bool, fits: bool) -> str:
    """Return what is the matter, in words."""
    notes = []
    if behind:
        notes.append("the file system cannot keep up" if at_limit else "more servers would help")
    if not fits:
        notes.append("an output does not fit into the staging memory")
    return "; ".join(notes)


def servers_to_hide(job: Job, machine: Machine, placement: str = "own_nodes") -> int | None:
    """The fewest servers with which nothing is waited for; None if no number does that."""
    # More than these do not write faster: they would "hide" output by computing more slowly.
    most = math.ceil(machine.open_bandwidth() / min(machine.writer, machine.network))
    if placement == "spread":
        most = min(most, job.ranks - 1)
    if most < 1:
        return None
    low, high = 1, 1
    while not servers(job, machine, high, placement).hidden:
        if high >= most:
            return None
        low, high = high + 1, min(2 * high, most)
    while low < high:
        middle = (low + high) // 2
        if servers(job, machine, middle, placement).hidden:
            high = middle
        else:
            low = middle + 1
    return high


def outage_memory(job: Job, outage_s: float) -> float:
    """Staging memory of a node [bytes] with which an outage costs nothing: outage times rate."""
    rate = job.bytes_per_output / job.compute_s()
    return (outage_s * rate + job.bytes_per_output) / job.nodes()


def break_even_interval_s(job: Job, machine: Machine, number: int) -> float:
    """Computing between outputs above which `number` servers on own nodes no longer pay.

    Less often than that, the nodes of the servers cost more than synchronous output does. Infinite
    if they always pay (as without extra nodes), 0 if they never do.
    """
    plain = synchronous(job, machine)
    served = servers(job, machine, number)
    if served.nodes == plain.nodes:
        return math.inf
    # nodes * (T + W) = (nodes + extra) * (T + hand over), as far as output is hidden
    gain_s = plain.nodes * plain.write_s - served.nodes * served.hand_over_s
    return max(0.0, gain_s / (served.nodes - plain.nodes))


def strong(job: Job, ranks: int) -> Job:
    """The same problem on other ranks: the same bytes, a step in inverse proportion."""
    return replace(job, ranks=ranks, step_s=job.step_s * job.ranks / ranks)


def weak(job: Job, ranks: int) -> Job:
    """The same share of a problem for each of other ranks: bytes in proportion, the same step."""
    return replace(job, ranks=ranks, bytes_per_output=job.bytes_per_output * ranks / job.ranks)
