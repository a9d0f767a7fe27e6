# SPDX-License-Identifier: BSD-3-Clause
"""What programs in C are compiled with is in tests/c/abi.txt: a change there is seen in review.

`python tests/python/test_c_abi.py` writes the file. ctest's `c_face.symbols` compares the functions
with those that libtailrace.so exports.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LIST = ROOT / "tests" / "c" / "abi.txt"
HEAD = """\
# The binary interface of libtailrace.so: functions, members of structs in their order, constants.
# Between versions x.y.z of one x.y (the SONAME), lines may be added, except within a struct.
"""
sys.path.insert(0, str(ROOT / "bindings" / "generate"))
from headers import Argument, Headers  # noqa: E402


def typed(one: Argument) -> str:
    return f"{one.type} {one.name}{f'[{one.array}]' if one.array else ''}"


def interface(headers: Headers) -> list[str]:
    """Return a line for each function, struct and constant."""
    lines = [
        f"{function.result} {name}({', '.join(one.type for one in function.arguments)})"
        for name, function in sorted(headers.functions.items())
    ]
    for name, members in sorted(headers.structs.items()):
        lines.append(f"struct {name} {{ {'; '.join(map(typed, members))} }}")
    return lines + [f"{name} = {value}" for name, value in sorted(headers.constants.items())]


def of_the_tree() -> list[str]:
    return interface(Headers(*sorted((ROOT / "include" / "tailrace" / "c").glob("*.h"))))


def test_the_interface_of_c_is_the_one_in_the_list() -> None:
    listed = [line for line in LIST.read_text().splitlines() if not line.startswith("#")]
    found = of_the_tree()
    gone = [line for line in listed if line not in found]
    new = [line for line in found if line not in listed]
    how = "after a change of the interface run tests/python/test_c_abi.py"
    assert not gone, f"changed or removed, which needs a new SONAME after a release; {how}"
    assert not new, f"not in {LIST.name}; {how}"
    assert len(found) > 150


def test_changes_of_types_and_members_are_seen(tmp_path: Path) -> None:
    header = tmp_path / "x.h"
    text = "int tailrace_f(int n, const char* text);\n"
    text += "typedef struct tailrace_s {\n  int a;\n} tailrace_s;\n"
    header.write_text(text)
    before = interface(Headers(header))
    assert before == ["int tailrace_f(int, const char*)", "struct tailrace_s { int a }"]
    for old, new in (("int n", "int64_t n"), ("int a", "int b"), ("tailrace_f", "tailrace_g")):
        header.write_text(text.replace(old, new))
        assert interface(Headers(header)) != before


if __name__ == "__main__":
    LIST.write_text(HEAD + "".join(f"{line}\n" for line in of_the_tree()))
