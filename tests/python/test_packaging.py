# SPDX-License-Identifier: BSD-3-Clause
"""The Spack recipe names what the build has: run with stand-ins for Spack's own modules."""

import re
import sys
import tomllib
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what the recipe said: directive -> list of (arguments, options); and its class."""
    said: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {}

    def directive(name: str) -> Callable[..., None]:
        return lambda *words, **options: said.setdefault(name, []).append((words, options))

    package = types.ModuleType("spack.package")
    for name in ("license", "version", "variant", "depends_on", "resource"):
        setattr(package, name, directive(name))
    package.join_path = lambda *parts: "/".join(parts)  # type: ignore[attr-defined]
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
