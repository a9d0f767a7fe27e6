# SPDX-License-Identifier: BSD-3-Clause
"""Files, sessions, the trace and the tuner, on the ranks of a job (face_program.py)."""

import os
from pathlib import Path

import h5py
import numpy as np
from face_common import COMM, FOLDER, SHAPE, deprecated, mine, refused, slabs, whole

import tailrace


def case_files() -> None:
    layout = slabs(1)
    path = FOLDER / f"fields-{COMM.size}.h5"
    padded = np.zeros([n + 2 for n in layout.shape(COMM.rank)])
    view = padded[1:-1, 1:-1, 1:-1]
    counts = mine(layout, "int16")
    numbers = tailrace.Variable(counts, slabs(1), ["a", "b", "c"], {"unit": "m"})
    for servers in ("auto", "none", "hidden", "thread", "process"):
        view[...] = mine(layout)
        with tailrace.Output(COMM, servers, hints={"cb_nodes": 1}) as output:
            kind = "hidden" if servers == "auto" else servers
            assert f'servers = "{kind}"' in output.describe()
            result = output.write(
                path,
                {"u": view, "n": numbers},
                layout, step=3, attributes={"time": 0.5, "kind": "test", "n": np.int64(4)},
                coordinates={"x": range(8), "y": (np.arange(9.0), {"unit": "km"})},
            )  # fmt: skip
            assert result == ("written" if servers == "none" else "staged")
            view[...] += 1  # the copy is taken
            output.progress()
            output.finish()
            assert output.last_complete == str(path)
            assert output.statistics["call_s"] > 0
            assert "1 of 1 steps complete" in output.describe_statistics()
            assert (output.statistics["writer_cpu_s"] > 0) is (COMM.rank == 0)  # cb_nodes
        with h5py.File(path) as file:
            assert (file["u"][...] == whole()).all(), servers
            assert (file["n"][...] == whole("int16")).all()
            assert file["n"].attrs["unit"] in ("m", b"m")
            assert file["y"].attrs["unit"] in ("km", b"km")
            assert {"a", "b", "c"} <= set(file)
            assert file.attrs["time"] == 0.5
        COMM.Barrier()
    with tailrace.Input(COMM, path) as file:
        assert sorted(file.names) == ["n", "u"]
        assert file.extents("u") == SHAPE
        assert file.dtype("n") == np.dtype("int16")
        assert [file.attribute(name) for name in ("time", "kind", "n")] == [0.5, "test", 4]
        refused(lambda: file.attribute("mass"), "mass", kind=KeyError)
        assert file.coordinate("x") == list(range(8))
        other = slabs(2)
        assert (file.read("u", other) == mine(other)).all()
        assert file.read("n", other, dtype="float32").dtype == np.dtype("float32")
        padded = np.zeros([n + 2 for n in other.shape(COMM.rank)])
        assert (file.read("u", other, padded[1:-1, 1:-1, 1:-1]) == mine(other)).all()
        assert (padded == 0).sum() >= padded.size - mine(other).size
        assert (file.read_all("u") == whole()).all()
        refused(lambda: file.read("w", other), "w")
        refused(lambda: file.read("u", other, np.zeros((2, 2))), "out: has shape (2, 2)")
        refused(lambda: file.read("u", other, mine(other), "float32"), "float64", "float32")
    refused(lambda: file.names, "closed")


def case_a_name_that_is_not_utf8() -> None:
    name = os.fsdecode(b"caf\xe9") + f"-{COMM.size}"  # Python has such bytes as surrogates
    layout = slabs()
    for path in (name + ".h5", Path(name + ".nc"), FOLDER / (name + ".h5")):
        with tailrace.Output(COMM) as output:
            output.write(path, {"u": mine(layout)}, layout)
            output.finish()
            assert output.last_complete == str(path)
        with tailrace.Input(COMM, path) as file:
            assert (file.read("u", layout) == mine(layout)).all()
    refused(lambda: tailrace.Input(COMM, name), "caf\\xe9", kind=tailrace.FileFailure)
    with tailrace.File(COMM, name + ".bin", "write") as file:
        file.write(mine(layout), SHAPE, layout.box(COMM.rank))
    with tailrace.Output(COMM, "thread") as output:
        output.write(name + ".zarr", {"u": mine(layout)}, layout)
        output.finish()
        assert output.last_complete == name + ".zarr"
    COMM.Barrier()
    assert Path(f"{name}.bin").is_file()
    assert Path(f"{name}.zarr", "zarr.json").is_file()


def case_shared_files() -> None:
    path = FOLDER / f"shared-{COMM.size}.bin"
    box, other = slabs(0).box(COMM.rank), slabs(2).box(COMM.rank)
    with tailrace.File(COMM, path, "write", {"cb_nodes": 1}) as file:
        assert file.settings["cb_nodes"][0] == "1"
        file.write(mine(slabs(0)), SHAPE, box, offset=24)
        last = COMM.rank == COMM.size - 1
        bad = mine(slabs(0))[1:] if last else mine(slabs(0))
        refused(lambda: file.write(bad, SHAPE, box), "array: has shape")
        refused(lambda: file.write(mine(slabs(0)), (1, 1, 1), box))
    with tailrace.File(COMM, path) as file:
        part = np.zeros(other.extents)
        file.read(part, SHAPE, other, 24)
        assert (part == mine(slabs(2))).all()
        file.read(part if COMM.rank == 0 else None, SHAPE, other if COMM.rank == 0 else None, 24)
        refused(lambda: file.read(part, SHAPE, other, 1 << 20), kind=tailrace.CorruptData)
    refused(lambda: file.write(part, SHAPE, other), "File is closed")
    refused(lambda: tailrace.File(COMM, path, "append"), "append", "'update'")
    refused(lambda: tailrace.File(COMM, FOLDER / "none.bin"), "none.bin", kind=OSError)


def case_refused_files() -> None:
    """What is wrong on one rank is raised on all."""
    layout = slabs(0)
    u = mine(layout)
    last = COMM.rank == COMM.size - 1
    with tailrace.Output(COMM) as output:
        path = FOLDER / "refused.h5"
        write = output.write
        refused(
            lambda: write(path, {"u": u.astype("longdouble") if last else u}, layout),
            "'u'",
            "longdouble" if np.longdouble().itemsize == 8 else "float128",
        )
        refused(lambda: write(path, {"u": u[1:] if last else u}, layout), "'u'", "shape")
        refused(lambda: write(path, {"u": None if last else u}, layout), "NumPy array")
        refused(lambda: write(path, {"u": u}), "no layout")
        refused(lambda: write(path, u, layout), "dict")
        refused(lambda: write(path, {"u": u}, layout, attributes={"a": object()}), "'a'")
        refused(lambda: write(path, {"u": u}, tailrace.slabs(SHAPE, 0, COMM.size + 1)), "ranks")
        refused(lambda: write(3 if last else path, {"u": u}, layout))
        if COMM.size > 1:
            try:
                write(path, {"u": u[1:] if last else u}, layout)
            except tailrace.Error as error:
                assert (error.code, error.rank) == ("invalid_input", COMM.size - 1)
            single, two = u.astype("float32"), {"u": u, "v": u}
            refused(lambda: write(path, {"u": single if last else u}, layout), "float32", "same")
            refused(
                lambda: write(path, {"v" if last else "u": u}, layout), "u float64", "v float64"
            )
            refused(lambda: write(path, {"u": u} if last else two, layout), "list of variables")
            refused(lambda: write(f"{path}{last}", {"u": u}, layout), "the path must be the same")
        masked = np.ma.masked_equal(u, 0)
        refused(lambda: write(path, {"u": masked if last else u}, layout), "'u'", "filled")
        refused(lambda: write(path, {"u": u}, layout, attributes={"a": None}), "'a'", "None")
        refused(lambda: write(path, {"u": u}, layout, attributes=[1]), "attributes", "dict")
        refused(lambda: write(path, {"u": u}, layout, coordinates=[1]), "coordinates", "dict")
        assert not path.exists()
    refused(lambda: tailrace.Output(COMM, hints=[1]), "hints", "dict")
    refused(lambda: write(path, {"u": u}, layout), "closed")
    refused(lambda: tailrace.Output(COMM, "1 per node"), "1 per node", "Session")
    refused(lambda: tailrace.Output(COMM, writer=1), "writer: there is no", "did you mean writers")
    refused(lambda: tailrace.Output(COMM, hints={"cb_nodes": "many"}), "cb_nodes")
    refused(lambda: tailrace.Input(COMM, FOLDER), "is a folder", kind=tailrace.CorruptData)
    missing = FOLDER / "missing.h5"
    refused(lambda: tailrace.Input(COMM, missing), str(missing), kind=OSError)
    try:
        tailrace.Input(COMM, missing)
    except tailrace.FileFailure as error:
        assert (error.code, error.errno, error.path) == ("io", 2, str(missing))
    with tailrace.Output(COMM, "none") as output:
        nowhere = FOLDER / "no" / "such" / "folder.h5"
        refused(
            lambda: output.write(nowhere, {"u": u}, layout, step=12), str(nowhere), kind=OSError
        )
        try:
            output.write(nowhere, {"u": u}, layout, step=12)
        except tailrace.FileFailure as error:
            assert (error.errno, error.path, error.step) == (2, str(nowhere), 12)


# Settings of who writes, and of what is written: none as it is by default.
WHO = {
    "servers": "hidden", "placement": "own_nodes", "transport": "node", "memory_bytes": 1,
    "senders_at_once": 1, "chunk_bytes": 1, "progress": "thread", "threads": 2, "watchdog_s": 1.0,
    "folder": "a", "functions": {"f": print}, "server_program": ["a"],
}  # fmt: skip
WHAT = {
    "strategy": "grouped", "hints": {"cb_nodes": 1}, "writers": 1, "stripe_bytes": 8,
    "buffered_files": 1, "method": "push", "checksums": False, "priority": 1, "when_full": "drop",
    "stall_budget": 0.5, "wait_limit_s": 1.0, "spill_folder": "a", "on_failure": "proceed",
    "retry_s": 1.0, "fallback_path": "a", "format": "zarr", "compress": "deflate:1",
    "variables": False, "series": "a.h5",
    "products": [tailrace.Product("p", ["coarsen factor=2"])],
}  # fmt: skip


def case_settings_in_the_wrong_place() -> None:
    for name, value in WHAT.items():
        given = {name: value}
        refused(lambda given=given: tailrace.Session(COMM, "none", **given), name, "`open`")
    with tailrace.Session(COMM, "none") as session:
        for name, value in WHO.items():
            given = {name: value}
            refused(lambda given=given: session.open("u", **given), f"output u: {name}", "session")
        refused(lambda: session.open("u", tasks={"t": print}), "output u: functions", "session")
        refused(lambda: session.open("u", mode="hidden"), "mode: there is no such setting")
        with session.open("u", writers=1, checksums=False) as output:
            assert 'servers = "none"' in output.describe()


def case_names_of_0_1() -> None:
    layout = slabs()
    makers = (
        (lambda: tailrace.Output(COMM, mode="hidden"), "hidden", "staged"),
        (lambda: tailrace.Output(COMM, mode="synchronous"), "none", "written"),
        (lambda: tailrace.Output(COMM, "synchronous"), "none", "written"),
    )
    for make, servers, result in makers:
        with deprecated(make, f'servers="{servers}"') as output:
            assert f'servers = "{servers}"' in output.describe()
            path = FOLDER / f"old-{COMM.size}.h5"
            assert output.write(path, {"u": mine(layout)}, layout) == result
    refused(lambda: tailrace.Output(COMM, mode="later"), "mode", "'hidden'")
    stream = deprecated(lambda: tailrace.Stream, "tailrace.Stream", "tailrace.Output")
    assert stream is tailrace.Output


def double(step: int, parts: list) -> None:
    for part in parts:
        assert part.extents == SHAPE
        part.data[...] = part.data * 2 + step


def case_sessions() -> None:
    functions = {"double": double, "broken": lambda step, parts: 1 // 0}
    tasks = {"square": lambda step, task: task**2, "word": lambda step, task: "four"}
    refused(lambda: tailrace.Session(COMM, "none", functions={"f": 3}), "functions[f]", "3")
    refused(lambda: tailrace.Session(COMM, "none", tasks=[double]), "tasks", "dict")
    for servers in ("none", "thread", *(["1"] if COMM.size > 1 else [])):
        with tailrace.Session(
            COMM, servers, memory_bytes=1 << 24, folder=FOLDER, functions=functions, tasks=tasks
        ) as session:
            if session.computes:
                run_outputs(session, FOLDER / f"{servers}-{COMM.size}")
            else:
                assert session.serve() == 1  # what was broken is lost
        refused(lambda s=session: s.computes, "closed")


def run_outputs(session: tailrace.Session, stem: Path) -> None:
    comm = session.compute
    layout = tailrace.slabs(SHAPE, 0, comm.size)
    u = np.ascontiguousarray(whole()[layout.box(comm.rank).slices])
    double_it = tailrace.Product("doubled", ["call name=double"])
    squares = tailrace.Product("squares", ["tasks name=square count=4"])
    with session.open("fields", products=[double_it, squares]) as output:
        result = output.write(f"{stem}.h5", {"u": u}, layout, step=5)
        assert result in ("staged", "written")
        output.progress()
        output.finish()
        assert output.statistics["complete"] == 1
        assert output.describe() == session.describe()
        assert "1 of 1 steps complete" in output.describe_statistics()
        refused(lambda: output.write(f"{stem}.h5", {"u": u.astype("S3")}, layout), "'u'", "S3")
        if comm.size > 1:
            mine_alone = {"u": u, "w": u} if comm.rank == 1 else {"u": u}
            refused(
                lambda: output.write(f"{stem}.h5", mine_alone, layout), "u float64", "w float64"
            )
    with h5py.File(f"{stem}_doubled.h5") as file:
        assert (file["u"][...] == whole() * 2 + 5).all()
    with h5py.File(f"{stem}_squares.h5") as file:
        assert file["square"][...].tolist() == [0, 1, 4, 9]
    refused(lambda: session.open("a", when_full="panic"), "panic", "'drop'")
    refused(lambda: session.open("a", on_failure="go on"), "go on", "'stop', 'proceed'")
    for word in ("proceed", "continue"):
        with session.open(word, on_failure=word) as output:
            output.write(f"{stem}_missing/u.h5", {"u": u}, layout)
            output.finish()
            assert output.statistics["failed"] == 1
    refused(lambda: session.open("a", products=[tailrace.Product("p", ["cal"])]), "cal")
    for wrong in ([3], double_it):
        refused(lambda given=wrong: session.open("a", products=given), "list of Product")
    text = tailrace.Product("p", "coarsen factor=2")
    refused(lambda: session.open("a", products=[text]), "Product.stages", "list of texts")
    broken = session.open("broken", products=[tailrace.Product("b", ["call name=broken"])])
    refused(
        lambda: (broken.write(f"{stem}_b.h5", {"u": u}, layout), broken.finish()),
        "function broken: ZeroDivisionError", kind=tailrace.Error,
    )  # fmt: skip
    broken.close()
    words = session.open("words", products=[tailrace.Product("w", ["tasks name=word count=2"])])
    refused(
        lambda: (words.write(f"{stem}_w.h5", {"u": u}, layout), words.finish()),
        "function word: a task returns a number, not 'four'",
    )
    words.close()
    refused(lambda: broken.write(f"{stem}.h5", {"u": u}, layout), "closed")


def case_trace_and_tuner() -> None:
    trace = tailrace.Trace(100)
    start = tailrace.now_s()
    trace.record("compute", "step", start, start + 0.25)
    assert trace.total_s("compute") == 0.25
    refused(lambda: trace.record("sleep", "s", 0, 1), "sleep", "'wait'")
    with tailrace.Output(COMM, trace=trace) as output:
        output.write(FOLDER / f"traced-{COMM.size}.h5", {"u": mine(slabs())}, slabs())
    assert trace.total_s("transfer") + trace.total_s("wait") > 0
    trace.write(COMM, FOLDER / f"trace-{COMM.size}.json")
    assert "step" in (FOLDER / f"trace-{COMM.size}.json").read_text()
    assert tailrace.this_machine()["cores"] > 0
    assert "alltoallv" in tailrace.move_methods()
    assert set(tailrace.fft_kernels()) & {"fftw", "ducc0", "mkl"}
    refused(lambda: tailrace.remembered(FOLDER / "none.json"), "none.json", kind=OSError)
