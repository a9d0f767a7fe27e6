# SPDX-License-Identifier: BSD-3-Clause
"""The names of 0.1, which are accepted for one release with a warning."""

import sys

MOVED = {
    "tailrace.aquifer_file": "tailrace.apps.groundwater.aquifer_file",
    "tailrace.pflotran_file": "tailrace.apps.groundwater.pflotran_file",
    "tailrace.helium_cross_section": "tailrace.apps.helium.cross_section",
    "tailrace.helium_demo": "tailrace.apps.helium.demo",
    "tailrace.photoelectrons": "tailrace.apps.helium.photoelectrons",
}
RENAMED = {"Stream": "Output"}  # in the package tailrace

# As `typing` has it, whose import would take most of the time until the command heeds Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec


class OldNames:
    """Finds a module of `MOVED` where it is now: for ``import`` and for ``python -m``."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> "ModuleSpec | None":
        """Return the specification of the module, loaded under its old name."""
        new = MOVED.get(name)
        if new is None:
            return None
        from importlib.util import find_spec, spec_from_file_location  # noqa: PLC0415

        print(f"tailrace: the module {name} is now {new}", file=sys.stderr)
        found = find_spec(new)
        return spec_from_file_location(name, found.origin) if found and found.origin else None
