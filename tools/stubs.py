#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes tailrace/_core.pyi anew: the types of the compiled module (after `make python`).

Usage: tools/stubs.py [FILE]
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def main(path: Path) -> None:
    """Write the stubs to `path`."""
    from nanobind.stubgen import StubGen  # noqa: PLC0415

    from tailrace.extension import load  # noqa: PLC0415

    generator = StubGen(load())
    generator.put(load())
    path.write_text("# SPDX-License-Identifier: BSD-3-Clause\n" + generator.get())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tailrace" / "_core.pyi")
