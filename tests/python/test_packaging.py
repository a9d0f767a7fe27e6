# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of Spack and EasyBuild name what the build has.

Spack's is run with stand-ins for Spack's own modules; its test really compiles and runs a program.
tests/cluster/test_centre.py has the checks of EasyBuild itself, and of ReFrame.
"""

import contextlib
import re
import shutil
import subprocess
import sys
import tomllib
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from stand_ins import built

from tailrace.programs import find_program

ROOT = Path(__file__).resolve().parent.parent.parent


class Spec:
    """A spec of which nothing is known: its default variants."""

    def satisfies(self, text: str) -> bool:
        return text.startswith("+")


class CMakePackage:
    spec = Spec()
    run_tests = False
    stage = types.SimpleNamespace(source_path="/stage")

    def define(self, name: str, value: object) -> tuple[str, object]:
        return name, value

    def define_from_variant(self, name: str, variant: str) -> tuple[str, object]:
        return name, f"variant {variant}"


class Executable:
    """A program that raises an error if it fails, as Spack's."""

    def __init__(self, path: Path | str) -> None:
        self.path = path

    def __call__(self, *words: str, output: object = None, error: object = None) -> str:
        return subprocess.run(
            [self.path, *words], stdout=subprocess.PIPE, text=True, check=True
        ).stdout


class Prefix:
    """The folder of an installation; `prefix.bin.join` names a program."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bin = types.SimpleNamespace(join=lambda name: path / "bin" / name)

    def __str__(self) -> str:
        return str(self.path)


def which(*names: str, required: bool) -> Executable:
    found = next(filter(None, map(shutil.which, names)), None)
    assert found or not required, names
    return Executable(found or "")


@contextlib.contextmanager
def working_dir(name: str, create: bool) -> Any:
    Path(name).mkdir(exist_ok=not create)
    with contextlib.chdir(name):
        yield


TOOLS = {
    "join_path": lambda *parts: "/".join(parts),
    "Executable": Executable,
    "which": which,
    "working_dir": working_dir,
    "test_part": lambda test, name, purpose: contextlib.nullcontext(),
    "str": str,
}


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what the recipe said: directive -> list of (arguments, options); and its class."""
    said: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {}

    def directive(name: str) -> Callable[..., None]:
        return lambda *words, **options: said.setdefault(name, []).append((words, options))

    package = types.ModuleType("spack.package")
    for name in ("license", "version", "variant", "depends_on", "resource"):
        setattr(package, name, directive(name))
    for name, tool in TOOLS.items():
        setattr(package, name, tool)
    cmake = types.ModuleType("spack_repo.builtin.build_systems.cmake")
    cmake.CMakePackage = CMakePackage  # type: ignore[attr-defined]
    cmake.generator = directive("generator")  # type: ignore[attr-defined]
    for name in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "spack.package", package)
    monkeypatch.setitem(sys.modules, cmake.__name__, cmake)
    monkeypatch.setenv("TAILRACE_GIT", str(ROOT))
    path = ROOT / "packaging" / "spack" / "package.py"
    space: dict[str, Any] = {"__name__": "recipe"}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return {**said, "class": space["Tailrace"]}


def options_of_cmake() -> set[str]:
    """Return what the build files let a user set."""
    files = [ROOT / "CMakeLists.txt", *(ROOT / "src").rglob("CMakeLists.txt")]
    files += (ROOT / "cmake").glob("*.cmake")
    text = "\n".join(path.read_text() for path in files)
    return set(re.findall(r"\b(?:option|set)\(\s*(TAILRACE_\w+)[^)]*?(?:ON|OFF|CACHE)", text))


def test_options_of_the_recipe_are_those_of_the_build(recipe: dict[str, Any]) -> None:
    known = options_of_cmake() | {"BUILD_SHARED_LIBS", "CMAKE_DISABLE_FIND_PACKAGE_LAPACK"}
    assert {"TAILRACE_NATIVE", "TAILRACE_DUCC_DIR"} <= known
    arguments = recipe["class"]().cmake_args()
    assert {name for name, _ in arguments} <= known
    variants = {words[0] for words, _ in recipe["variant"]}
    used = {str(value).removeprefix("variant ") for _, value in arguments} | {"lapack"}
    assert variants <= used
    for _, options in recipe["depends_on"]:
        if "when" in options and options["when"].startswith("+"):
            assert options["when"][1:] in variants


def test_versions_of_the_recipe_are_those_of_the_build(recipe: dict[str, Any]) -> None:
    cmake = (ROOT / "CMakeLists.txt").read_text()
    least = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", cmake)
    python = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    needs = {words[0] for words, _ in recipe["depends_on"]}
    assert least
    assert f"cmake@{least[1]}:" in needs
    assert f"python@{python.removeprefix('>=')}:" in needs
    fetched = re.search(r"^version=([\d.]+)$", (ROOT / "tools" / "fetch_ducc").read_text(), re.M)
    assert fetched
    assert recipe["resource"][0][1]["tag"] == f"ducc0_{fetched[1].replace('.', '_')}"


def test_the_recipe_knows_what_the_build_looks_for(recipe: dict[str, Any]) -> None:
    """Each library that the build asks for, by the name that Spack has for it."""
    names = {
        "MPI": "mpi", "fmt": "fmt", "LAPACK": "lapack", "HDF5": "hdf5", "libxxhash": "xxhash",
        "fftw3": "fftw", "fftw3f": "fftw", "liburing": "liburing", "libzstd": "zstd",
        "tomlplusplus": "tomlplusplus", "PkgConfig": "pkgconfig",
    }  # fmt: skip
    others = {"OpenMP", "Threads", "PkgConfig", "Python", "Python3", "nanobind"}  # of compilers
    others |= {"PETSc", "GTest", "gtest"}  # where they are there
    needs = {re.split(r"[@ +]", words[0])[0] for words, _ in recipe["depends_on"]}
    files = [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")]
    for folder in ("src", "apps", "bindings"):
        files += (ROOT / folder).rglob("CMakeLists.txt")
    text = "\n".join(path.read_text() for path in files)
    asked = set(re.findall(r"find_package\((\w+)", text))
    asked |= set(re.findall(r"IMPORTED_TARGET (?:GLOBAL )?(?!GLOBAL)([\w+-]+)", text))
    asked |= set(re.findall(r"[A-Z]+=(lib(?!rary)\w+)", text))
    assert {"MPI", "fmt", "libxxhash", "liburing"} <= asked
    for name in asked - others:
        assert names[name] in needs, name


def test_the_test_of_the_recipe(
    recipe: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It passes with an installation, and fails with one that lacks a program."""
    if shutil.which("h5dump") is None:
        pytest.skip("h5dump is not installed")
    built("tailrace-verify")
    build = find_program("tailrace-verify").parents[2]
    prefix = tmp_path / "prefix"
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=-3)
    for name, text in {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
    }.items():
        monkeypatch.setenv(name, text)
    monkeypatch.chdir(tmp_path)
    package = recipe["class"]()
    package.prefix = Prefix(prefix)
    package.test_own_program()
    assert (tmp_path / "own_program/u.h5").exists()
    package.test_programs()
    (prefix / "bin/tailrace-list").unlink()
    with pytest.raises(OSError, match="tailrace-list"):
        package.test_programs()


def test_the_recipe_of_easybuild_is_that_of_the_build() -> None:
    path = next((ROOT / "packaging/easybuild").glob("*.eb"))
    said: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), said)
    version = re.search(
        r"project\(tailrace VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()
    )
    assert version
    assert said["version"] == version[1]
    chain = said["toolchain"]
    assert path.name == f"tailrace-{version[1]}-{chain['name']}-{chain['version']}.eb"
    fetched = re.search(r"^version=([\d.]+)$", (ROOT / "tools" / "fetch_ducc").read_text(), re.M)
    assert fetched
    assert f"ducc0-{fetched[1]}.tar.gz" in said["sources"]
    assert f"ducc0-{fetched[1]} " in said["configopts"]
    known = options_of_cmake() | {"Python_EXECUTABLE"}
    assert set(re.findall(r"-D(\w+)=", said["configopts"])) <= known
    names = {name.lower() for name, _ in [*said["dependencies"], *said["builddependencies"]]}
    # What tools/setup asks for where there are no packages of Debian, by the name of EasyBuild.
    advice = re.search(r"Spack: +spack install (.*) && spack", (ROOT / "tools/setup").read_text())
    assert advice
    others = {"openmpi", "fftw", "openblas"}  # of the toolchain
    others |= {"liburing", "googletest"}  # not in this toolchain; tests are not built
    wanted = {re.split(r"[+@]", word)[0].replace("-", "_") for word in advice[1].split()}
    assert {"isa_l", "nlohmann_json"} <= wanted
    assert wanted - others <= {name.replace("-", "_") for name in names}
    python = {"typer", "rich", "numpy", "jinja2"}  # in bundles, or extensions
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    needs = {re.split(r"[><=]", word)[0].lower() for word in needs}
    assert needs - python <= names
    assert {name for name, *_ in said["exts_list"]} == {"typer"}


def test_the_recipe_of_conda_is_that_of_the_build() -> None:
    text = (ROOT / "packaging/conda/recipe.yaml").read_text()
    said = yaml.safe_load(text)
    cmake = (ROOT / "CMakeLists.txt").read_text()
    version = re.search(r"project\(tailrace VERSION ([\d.]+)", cmake)
    least = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", cmake)
    fetched = re.search(r"^version=([\d.]+)$", (ROOT / "tools" / "fetch_ducc").read_text(), re.M)
    assert version and least and fetched
    assert said["context"]["version"] == version[1]
    assert said["source"][1]["tag"] == f"ducc0_{fetched[1].replace('.', '_')}"
    needs = said["requirements"]
    assert f"cmake >={least[1]}" in needs["build"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    python = {word.replace(">=", " >=") for word in project["project"]["dependencies"]}
    python = {word.replace("matplotlib ", "matplotlib-base ") for word in python}
    assert python <= set(needs["run"])
    tools = {word.replace(">=", " >=") for word in project["build-system"]["requires"]}
    assert tools <= set(needs["host"])
    advice = re.search(r"Spack: +spack install (.*) && spack", (ROOT / "tools/setup").read_text())
    assert advice
    names = {"zlib-api": "zlib", "openblas": "liblapack", "nlohmann-json": "nlohmann_json"}
    others = {"openmpi", "fftw", "googletest", "cmake", "ninja", "pkgconf", "pkgconfig"}
    wanted = {re.split(r"[+@]", word)[0] for word in advice[1].split()} - others
    host = {word.split()[0] for word in needs["host"]}
    assert {names.get(name, name) for name in wanted} <= host, (wanted, host)
    assert "${{ mpi }}" in host or "${{" in host
    variants = yaml.safe_load((ROOT / "packaging/conda/variants.yaml").read_text())
    assert set(variants["mpi"]) == {"openmpi", "mpich"}
    assert set(re.findall(r"-?D?(TAILRACE_\w+)=", text)) <= options_of_cmake()
