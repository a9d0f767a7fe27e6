# SPDX-License-Identifier: BSD-3-Clause
"""What a profile cannot be made of, or written to, is one clear sentence."""

import struct
from pathlib import Path

import pytest
from stand_ins import write_script
from typer.testing import CliRunner

from tailrace.cli import app
from tailrace.errors import TailraceError
from tailrace.profile import job


def refusal(*words: str) -> str:
    """Return why ``tailrace profile`` refuses; it must not have run anything."""
    done = CliRunner().invoke(app, ["profile", "-n", "2", *words])
    assert isinstance(done.exception, TailraceError), done.output
    assert "\n" not in str(done.exception)
    return str(done.exception)


def test_statically_linked_programs(tmp_path: Path) -> None:
    """A header of ELF with one part that is loaded, and no interpreter."""
    program = tmp_path / "app"
    head = b"\x7fELF\x02\x01\x01" + bytes(25) + struct.pack("<Q", 64) + bytes(14)
    head += struct.pack("<HH", 56, 1)
    program.write_bytes(head + bytes(64 - len(head)) + struct.pack("<I", 1) + bytes(52))
    program.chmod(0o755)
    assert "is statically linked, so its MPI calls cannot be recorded" in refusal(
        "--", str(program)
    )


def test_static_programs_are_told_from_others(tmp_path: Path) -> None:
    header = bytearray(64 + 56)
    header[:6] = b"\x7fELF\x02\x01"
    header[32:40] = (64).to_bytes(8, "little")
    header[54:58] = (56).to_bytes(2, "little") + (1).to_bytes(2, "little")
    header[64] = 1  # PT_LOAD alone
    (tmp_path / "static").write_bytes(header)
    header[64] = 3  # PT_INTERP
    (tmp_path / "dynamic").write_bytes(header)
    (tmp_path / "script").write_text("#!/bin/sh\n")
    assert [job.is_static(tmp_path / name) for name in ("static", "dynamic", "script")] == [
        True,
        False,
        False,
    ]


def test_two_mpi_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    program = write_script(tmp_path / "app", "#!/bin/sh\necho ran\n")
    both = "libmpi.so.40 => /a/libmpi.so.40\\nlibmpich.so.12 => /b/libmpich.so.12\\n"
    write_script(tools / "ldd", f"#!/bin/sh\nprintf '{both}'\n")
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("TAILRACE_LAUNCHER", "env")
    assert "two MPI libraries, Open MPI and MPICH" in refusal("--", str(program))


def test_programs_of_mpi_5_have_the_launcher_of_mpich(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its interface is the same for all libraries; the one that is known here is MPICH's."""
    program = write_script(tmp_path / "app", "#!/bin/sh\necho ran\n")
    write_script(tmp_path / "ldd", "#!/bin/sh\necho 'libmpi_abi.so.1 => /a/libmpi_abi.so.1'\n")
    mpirun = write_script(tmp_path / "mpirun", "#!/bin/sh\necho HYDRA build details\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for name in ("TAILRACE_LAUNCHER", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)
    family, launch = job.choose_launcher(2, program)
    assert (family, launch.prefix[0]) == ("abi", str(mpirun))
    write_script(tmp_path / "mpirun", "#!/bin/sh\necho mpirun '(Open MPI)' 4.1.4\n")
    hydra = write_script(tmp_path / "mpiexec.mpich", "#!/bin/sh\necho HYDRA build details\n")
    family, launch = job.choose_launcher(2, program)
    assert (family, launch.prefix[0]) == ("abi", str(hydra))
    monkeypatch.setenv("TAILRACE_BIN_DIR", str(tmp_path))
    with pytest.raises(TailraceError, match=r"libtailrace_mpi_abi.so was not found.*mpicc_abi"):
        job.find_library("abi")


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TailraceError, match=r"file/records: Not a directory"):
        job.prepare_folder(tmp_path / "file" / "records")
    assert "--report" in refusal("--report", str(tmp_path / "file" / "page.html"), "--", "true")
