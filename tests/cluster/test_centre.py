# SPDX-License-Identifier: BSD-3-Clause
"""A module for all users, as docs/how/install_for_a_centre.md says: two users submit its jobs."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import BUILD, ROOT, Cluster, ImpossibleError, Options

PAGE = (ROOT / "docs/how/install_for_a_centre.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
JOBS = [body for body in BLOCKS if body.startswith("#!/bin/bash")]
MODULES = Path("/usr/share/modules/init/bash")  # as Debian's environment-modules has it


@pytest.fixture(scope="module")
def centre() -> Iterator[Cluster]:
    """A cluster with two users, and with what the page's first block installs."""
    if not MODULES.exists():
        pytest.skip("no Environment Modules (Debian: environment-modules)")
    try:
        made = Cluster.start(Options(nodes=2, users=["ada", "grace"], shared="3g"))
    except ImpossibleError as error:
        pytest.skip(f"no cluster of namespaces here: {error}")
    try:
        install(made)
        yield made
    finally:
        made.close()


def there(cluster: Cluster, text: str) -> str:
    """Return a text of the page with a folder of this cluster in place of /apps."""
    return text.replace("/apps/", f"{cluster.shared}/apps/")


def install(cluster: Cluster) -> None:
    """Run `make module` of the page, without its build, in a process that sees the shared folder.

    The cluster has no network, and pip needs it.
    """
    command = next(line for line in BLOCKS[0].splitlines() if line.startswith("make module "))
    command = there(cluster, command).replace(
        "make ", f"make -o build -o .venv/stamps/venv-python PRESET={BUILD.name} ", 1
    )
    pid = str(cluster.state["pid"])
    done = subprocess.run(
        ["nsenter", "-t", pid, "--mount", "--", "sh", "-c", f"umask 077; cd {ROOT} && {command}"],
        env={**os.environ, "MAKEFLAGS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    modulefiles = cluster.outside(cluster.shared) / "apps/modulefiles"
    for name in ("openmpi", "hdf5"):  # Debian has theirs on PATH
        (modulefiles / name).write_text(f"#%Module1.0\nsetenv LOADED_{name} yes\n")
        (modulefiles / name).chmod(0o644)


def submit(cluster: Cluster, user: str, text: str) -> str:
    """Submit a job of a user, wait for its end and return what it printed."""
    home = cluster.shared / "home" / user
    job = home / "job.sh"
    lines = there(cluster, text).splitlines()
    first = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    # What a login shell of a centre does, and that a line which fails ends the job.
    lines[first:first] = ["set -e", f". {MODULES}"]
    cluster.outside(job).write_text("\n".join(lines) + "\n")
    done = cluster.as_user(user, "head", "sbatch", "--parsable", "--output=job.out", str(job))
    assert done.returncode == 0, done.stdout + done.stderr
    found = cluster.wait_for_job(done.stdout.strip())
    said = cluster.outside(home / "job.out").read_text()
    assert found["JobState"] == "COMPLETED", said
    assert f"({cluster.outside(home).stat().st_uid})" in found["UserId"]
    return said


def test_a_user_runs_a_case(centre: Cluster) -> None:
    said = submit(centre, "ada", JOBS[0])
    assert "done: step" in said
    assert said.count("match their checksums") >= 3
    fields = list(centre.outside(centre.shared / "home/ada/run/fields").glob("*.h5"))
    assert fields
    assert {path.stat().st_uid for path in fields} == {20001}


def test_another_user_links_and_profiles_a_program(centre: Cluster) -> None:
    shutil.copy(ROOT / "examples/heat.c", centre.outside(centre.shared / "home/grace"))
    said = submit(centre, "grace", JOBS[1])
    assert re.search(r"difference from the exact solution: \d\.\de-1[0-9]", said), said
    assert "Profile of 2 ranks" in said, said
    assert "u: " in said, said


def test_the_module_sets_what_the_page_says(centre: Cluster) -> None:
    """Other programs of a user keep their Python; unloading leaves nothing behind."""
    use = f". {MODULES} && module use {centre.shared}/apps/modulefiles && module load tailrace"
    tell = (
        'echo "$LOADED_openmpi $LOADED_hdf5"; command -v python3; man -w tailrace-run; '
        "$TAILRACE_ROOT/share/tailrace/environment/bin/python -c "
        "'import tailrace, mpi4py, numpy; print(tailrace.Output.__name__)'; "
        "pkg-config --cflags tailrace; module unload tailrace; "
        'echo "left:$TAILRACE_ROOT$PYTHONPATH"'
    )
    done = centre.as_user("ada", "n1", "bash", "-c", f"{use} && {tell}")
    assert done.returncode == 0, done.stdout + done.stderr
    root = f"{centre.shared}/apps/tailrace/0.2.0"
    lines = done.stdout.split("\n")
    assert lines[0] == "yes yes", done.stdout
    assert lines[1] == "/usr/bin/python3"
    assert lines[2].startswith(f"{root}/share/man/man1/tailrace-run.1")
    assert lines[3:6] == ["Output", f"-I{root}/include ", "left:"], done.stdout + done.stderr


def test_a_wrong_use_of_the_installer_says_what_is_wrong(tmp_path: Path) -> None:
    tool = ROOT / "tools/install_module"
    for words in ([], [BUILD], [BUILD, "apps", "/m"], [BUILD, f"{tmp_path}/a b", "/m"]):
        done = subprocess.run([tool, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "tailrace" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(shutil.which("lua5.3") is None, reason="no Lua (Debian: lua5.3)")
def test_lmod_files_call_the_functions_of_lmod(centre: Cluster) -> None:
    """Lmod itself conflicts with Environment Modules on Debian, so Lua runs the file."""
    file = centre.outside(centre.shared) / "apps/modulefiles/tailrace/0.2.0.lua"
    program = """
      local said = {}
      setmetatable(_G, {__index = function(_, name)
        return function(...) said[#said + 1] = table.concat({name, ...}, " ") end end})
      pathJoin = function(a, b) return a .. "/" .. b end
      dofile(arg[1]); print(table.concat(said, "\\n"))
    """
    done = subprocess.run(
        ["lua5.3", "-", str(file)], input=program, capture_output=True, text=True, check=True
    )
    said = done.stdout.splitlines()
    root = f"{centre.shared}/apps/tailrace/0.2.0"
    assert "depends_on openmpi" in said
    assert "depends_on hdf5" in said
    tcl = file.with_suffix("").read_text().replace("$root", root)
    paths = re.findall(r"^prepend-path (\S+) (\S+)$", tcl, flags=re.MULTILINE)
    assert len(paths) == 6
    assert {f"prepend_path {name} {path}" for name, path in paths} <= set(said)
    assert f"setenv TAILRACE_ROOT {root}" in said


@pytest.mark.skipif(shutil.which("eb") is None, reason="no EasyBuild (the extra [cluster])")
@pytest.mark.parametrize("check", ["--check-contrib", "--dry-run"])
def test_easybuild_accepts_the_recipe(check: str, tmp_path: Path) -> None:
    recipe = ROOT / "packaging/easybuild/tailrace-0.2.0-foss-2024a.eb"
    options = ["--allow-use-as-root-and-accept-consequences", "--robot", f"--prefix={tmp_path}"]
    options += ["--modules-tool=EnvironmentModules", "--module-syntax=Tcl"]
    environment = {**os.environ, "EB_PYTHON": sys.executable}
    done = subprocess.run(
        ["bash", "-c", f'. {MODULES} && exec eb "$@"', "eb", recipe, check, *options],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    wanted = "All contribution checks PASSed" if check == "--check-contrib" else "module: tailrace/"
    assert wanted in " ".join(done.stdout.split()), done.stdout  # lines are wrapped


@pytest.mark.skipif(shutil.which("reframe") is None, reason="no ReFrame (the extra [cluster])")
def test_reframe_checks_the_installation(tmp_path: Path) -> None:
    prefix = tmp_path / "prefix"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, stdout=-3)
    command = prefix / "bin/tailrace"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m tailrace "$@"\n')
    command.chmod(0o755)
    report = tmp_path / "report.json"
    checks = ROOT / "packaging/reframe/tailrace_checks.py"
    environment = {
        **{name: text for name, text in os.environ.items() if not name.startswith("TAILRACE")},
        "PATH": f"{prefix}/bin:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        ["reframe", "-c", checks, "-r", "--prefix", tmp_path, "--report-file", report],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Ran 2/2 test case(s) from 2 check(s) (0 failure(s)" in done.stdout, done.stdout
    runs = json.loads(report.read_text())["runs"]
    assert {case["result"] for run in runs for case in run["testcases"]} == {"pass"}
