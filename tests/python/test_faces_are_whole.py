# SPDX-License-Identifier: BSD-3-Clause
"""Each public function of C++ and C is reachable from other languages, or left out for a reason.

`data/faces.txt` says where. A function that is added to a header needs a line there; a line whose
function, or whose name in another language, is gone fails, too.
"""

import fnmatch
import importlib
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import public_functions
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TABLE = HERE / "data" / "faces.txt"
FACES = ("C", "Fortran", "Python")


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    function: str  # "-": of C alone
    names: tuple[tuple[str, ...], ...]  # of each face; () is left out
    reason: str


@cache
def table() -> tuple[dict[str, str], list[Line]]:
    """Return the reasons, and the lines."""
    reasons, lines = {}, []
    for text in TABLE.read_text().splitlines():
        if not text or text.startswith("#"):
            continue
        key, colon, reason = text.partition(": ")
        if colon:
            reasons[key] = reason
            continue
        function, *words = text.split()
        assert 3 <= len(words) <= 4, f"{text!r} needs a name, or a -, for each of {FACES}"
        names = tuple(() if word == "-" else tuple(word.split(",")) for word in words[:3])
        lines.append(Line(function, names, "".join(words[3:])))
    return reasons, lines


@cache
def functions() -> frozenset[str]:
    """Return the public functions of C++, without the outer namespace."""
    found: set[str] = set()
    for include in (ROOT / "include" / "tailrace", ROOT / "kernels" / "include" / "tailrace"):
        for header in [*include.glob("*.hpp"), *include.glob("more/*.hpp")]:
            found |= public_functions.of_cpp(header)
    return frozenset(name.removeprefix("tailrace::") for name in found)


def of(line: Line) -> set[str]:
    """Return the functions that a line speaks of."""
    if line.function.endswith("::*"):
        return {name for name in functions() if name.startswith(line.function[:-1])}
    return functions() & {line.function}


def test_every_function_has_one_line() -> None:
    speaking: dict[str, list[str]] = {name: [] for name in functions()}
    for line in table()[1]:
        assert of(line) or line.function == "-", (
            f"{line.function}: no header declares it; take its line out of {TABLE.name}"
        )
        for name in of(line):
            speaking[name].append(line.function)
    without = sorted(name for name, lines in speaking.items() if not lines)
    assert not without, f"add lines to {TABLE.relative_to(ROOT)} for {', '.join(without)}"
    twice = {name: lines for name, lines in speaking.items() if len(lines) > 1}
    assert not twice


@cache
def calls_of_c() -> frozenset[str]:
    """Return the functions of the headers of C."""
    headers = (ROOT / "include" / "tailrace" / "c").glob("*.h")
    return frozenset(name for header in headers for name in public_functions.of_c(header))


def test_every_call_of_c_has_a_line() -> None:
    named = [f"tailrace_{name}" for line in table()[1] for name in line.names[0]]
    without = {
        call
        for call in calls_of_c()
        if not any(fnmatch.fnmatchcase(call, pattern) for pattern in named)
    }
    assert not without, (
        f"add {', '.join(sorted(without))} to {TABLE.relative_to(ROOT)}: in the column C of the "
        "line of its C++ function, or, if there is none, in a line that begins with -"
    )


def test_what_is_left_out_has_a_reason() -> None:
    reasons, lines = table()
    for line in lines:
        assert bool(line.reason) == (() in line.names), (
            f"{line}: a - needs a reason, names need none"
        )
        assert line.reason in {"", *reasons}, f"{line}: no such reason stands at the top"
        assert line.names == ((),) * 3 or not line.function.endswith("*"), f"{line}: names of many"
    assert set(reasons) == {line.reason for line in lines} - {""}, "a reason that nothing has"


def missing(face: int, there: Collection[str]) -> list[str]:
    return [
        f"{line.function}: {name}"
        for line in table()[1]
        for name in line.names[face]
        if not fnmatch.filter(there, f"tailrace_{name}")
    ]


def test_names_of_c_are_declared() -> None:
    assert not missing(0, calls_of_c())


def test_names_of_fortran_are_bound() -> None:
    there: set[str] = set()
    for module in (ROOT / "bindings" / "fortran").glob("*.f90"):
        there |= public_functions.of_fortran(module)
    assert not missing(1, there)


def lookup(name: str) -> list[Any]:
    """Return what `tailrace.NAME` is; transforms are two classes behind one function."""
    *path, last = name.split(".")
    homes = [["fft", f"{''.join(path[-1:])}{kind}"] for kind in ("Double", "Single")]
    found = []
    for words in homes if path in (["fft", "Transform"], ["fft", "ArrayTransform"]) else [path]:
        home: Any = importlib.import_module("tailrace")
        for word in words:
            if word in ("fft", "sparse", "_core"):
                home = importlib.import_module(f"tailrace.{word}")
            else:
                home = getattr(home, word)
        found.append(getattr(home, last))
    return found


def test_names_of_python_are_there() -> None:
    try:
        importlib.import_module("tailrace.extension").load()
    except ImportError as error:
        pytest.skip(f"the Python face is not built: {error}")
    pytest.importorskip("mpi4py")
    pytest.importorskip("scipy")
    for line in table()[1]:
        for name in line.names[2]:
            assert lookup(name), name


HEADER = """
// class Commented { void out(); };
#define MACRO(x) \\
  void macro(x);
namespace tailrace::fft {
inline namespace TAILRACE_LANES_NAMESPACE {
namespace detail { void inner(); }
template <class T, class U = std::vector<T>>
requires(sizeof(T) > 4) T first(T value, Options options = {}) { if (value) { return value; } }
class Object final : public Base {
  void hidden();

 public:
  explicit Object(int n = (2 < 3)) : n_(n), m_{n} {}
  Object(const Object&) = delete;
  virtual ~Object() { close(); }
  bool operator==(const Object&) const { return true; }
  int size() const { return n_; }
  [[deprecated("use size")]] virtual void pure() = 0;
  std::vector<int> values = {1, 2};
  std::function<void(int)> callback;
  using Raw = decltype(make());
  struct Nested { Index start{}; bool empty() const { return false; } };

 private:
  void secret(std::string text = "(;{");
};
}  // namespace
inline constexpr int constant = make();
enum class Kind { one, two };
}  // namespace tailrace::fft
"""


def test_the_reader_of_headers(tmp_path: Path) -> None:
    header = tmp_path / "made.hpp"
    header.write_text(HEADER)
    assert public_functions.of_cpp(header) == {
        f"tailrace::fft::{name}"
        for name in (
            "first",
            "Object::Object",
            "Object::size",
            "Object::pure",
            "Object::Nested::empty",
        )
    }


def test_the_reader_of_modules(tmp_path: Path) -> None:
    module = tmp_path / "made.f90"
    module.write_text(
        "  type, public :: tailrace_a\n    integer :: no\n  contains\n"
        "    procedure :: one, & ! comment\n      two => its_two\n"
        "    procedure, private :: hidden\n    generic :: three => hidden, hidden_too\n  end type\n"
        "  public :: tailrace_free\n"
    )
    names = {"tailrace_a%one", "tailrace_a%two", "tailrace_a%three", "tailrace_free"}
    assert public_functions.of_fortran(module) == names


def guides() -> list[Path]:
    """Return the texts that show programs of C and Fortran how to use the library."""
    ports = ROOT / "examples" / "ports"
    return [ROOT / "docs" / "bindings.md", *sorted(ports.glob("*.patch"))]


@pytest.mark.parametrize("path", guides(), ids=lambda path: path.name)
def test_calls_of_guides_exist(path: Path) -> None:
    """What the page and the patches name is in the headers of C or the modules of Fortran."""
    text = path.read_text()
    if path.suffix == ".md":
        text = text.partition("## Coming from another library")[2]
    added = [
        line[1:] if path.suffix == ".patch" else line
        for line in text.splitlines()
        if path.suffix != ".patch" or line.startswith("+")
    ]
    sources = [
        *(ROOT / "include" / "tailrace" / "c").glob("*.h"),
        *(ROOT / "bindings" / "fortran").glob("*.f90"),
    ]
    there = {name for file in sources for name in re.findall(r"\btailrace_\w+", file.read_text())}
    named = set(re.findall(r"\btailrace_\w+", "\n".join(added)))
    assert named <= there, sorted(named - there)
    bound: set[str] = set()
    for module in (ROOT / "bindings" / "fortran").glob("*.f90"):
        bound |= public_functions.of_fortran(module)
    known = {name.partition("%")[2] for name in bound}
    assert set(re.findall(r"\w%(\w+)", "\n".join(added))) <= known
    if path.suffix == ".md":
        assert len(named) > 30
    else:
        assert named or "tailrace" in "\n".join(added)
