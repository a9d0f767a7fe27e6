# SPDX-License-Identifier: BSD-3-Clause
"""The procedures of the Fortran face, their arguments, and what each is when it is right."""

import re
from dataclasses import dataclass, field
from pathlib import Path

TYPE = re.compile(r"^ *type, *public *:: *(tailrace_\w+)\n(.*?)^ *end type", re.M | re.S)
BINDING = re.compile(r"^ *(procedure|generic)(, *private)?[^:\n]*::(.*)$", re.M)
HEAD = r"^ *((?:\w+(?:\(\w+\))? )?function|subroutine) {}\((.*?)\)(.*?)^ *end (?:function|sub)"
DECLARED = re.compile(r"^ *(\w+(?:\([^()]*\))?)([^:\n]*)::(.*)$", re.M)

# The right value of an argument: by "type%procedure.argument", "procedure.argument" or "argument";
# objects are good_KIND. What is not here is found by its type in `Argument.good`.
GOOD = {
    "create_f08.user": "MPI_COMM_WORLD", "create_f08.world": "MPI_COMM_WORLD",
    "create_integer.user": "MPI_COMM_WORLD%MPI_VAL", "world": "MPI_COMM_WORLD%MPI_VAL",
    "color": "0", "key": "0", "extents": "[6, 7]", "item_bytes": "8", "num_ranks": "all_ranks",
    "process_grid.extents": "[8, 8, 8]", "process_grid.grid": "pair",
    "pencils.extents": "[8, 8, 8]",
    "tailrace_transform%create.extents": "[8, 8, 8]", "grid": "[1, all_ranks]", "axis": "2",
    "cart_blocks.comm": "good_cart", "axes": "[2, 1]",
    "own_box.start": "[1, 1]", "own_box.counts": "[6, 7]",
    "own_boxes.start": "own_start(:, :num_own)", "own_boxes.counts": "own_counts(:, :num_own)",
    "n": "8", "rank": "this_rank", "box.start": "pair", "box.counts": "other_pair", "index": "1",
    "tailrace_transform%box.start": "triple", "tailrace_transform%box.counts": "other_triple",
    "ordered.counts": "[3, 2]", "order": "[2, 1]", "halo": "[0, 0]",
    "from": "good_layout", "to": "good_layout", "num_fields": "1", "in_place": ".false.",
    "from_memory": "good_memory", "to_memory": "good_memory", "source": "u", "destination": "v",
    "tailrace_output%create.method": '"auto"', "tailrace_session%open.method": '"auto"',
    "method": '"alltoallv"', "kernel": '"auto"',
    "tailrace_reduction%create.method": '"mpi"', "strategy": '"auto"',
    "tailrace_hints%set.name": '"cb_nodes"', "tailrace_hints%set.value": '"1"',
    "number": "3", "name": '"u"', "tailrace_contents%coordinate.name": '"x"',
    "tailrace_input%coordinate.name": '"x"', "values": "few", "array": "u", "of": '"u"',
    "dims": '["x", "y"]', "attribute_text.value": '"a text"', "attribute_int32.value": "1_int32",
    "attribute_int64.value": "1_int64", "attribute_real.value": "0.5_real64",
    "attribute_reals.value": "few", "attribute_real32.value": "0.5",
    "attribute_int32s.value": "[1, 2]", "attribute_int64s.value": "[1_int64, 2_int64]",
    "attribute_real32s.value": "[0.5, 1.5]", "read.array": "v", "read_all.array": "whole",
    "tailrace_input%attribute_int32.name": '"number"',
    "tailrace_input%attribute_int64.name": '"number"',
    "tailrace_input%attribute_real.name": '"real"', "has_attribute.name": '"number"',
    "tailrace_input%attribute_reals.name": '"reals"',
    "tailrace_input%attribute_text.name": '"text"', "open.path": "input_path", "path": "path",
    "checks": ".true.", "group_size": "0", "buffer_bytes": "1048576", "file": '"stderr"',
    "hidden": ".true.", "writers": "0", "stripe_bytes": "0", "buffered_files": "2",
    "checksums": ".true.", "max_items": "4", "type": "tailrace_float64", "op": "tailrace_sum",
    "root": "0", "x": "few", "y": "few_more", "dot.result": "one",
    "stall_budget": "0.0_real64", "wait_limit_s": "60.0_real64", "retry_s": "0.0_real64",
    "spill_folder": '""', "fallback_path": '"."', "format": '"auto"', "series": '""',
    "compress": '"deflate:1"', "how": '"deflate:1"',
    "tailrace_output%create.servers": '"hidden"', "servers": '"none"', "folder": '"."',
    "memory_bytes": "16777216_int64", "transport": '"auto"',
    "threads": "1", "priority": "0", "when_full": "tailrace_wait_for_room",
    "on_failure": "tailrace_stop", "variables": ".true.", "products": "[good_product]",
    "tailrace_session%open.name": "output_name()", "cutoff": "[2, 2, 2]", "max_fields": "1",
    "mode_order": "tailrace_kz_ky_kx", "scale": "0.5_real64",
    "tailrace_transform%create.grid": "[1, all_ranks]", "forward.u": "points",
    "forward.modes": "spectra", "backward.u": "points", "backward.modes": "spectra",
    "tailrace_array_transform%create.axes": "[1, 2]", "swap_with": "[2, 1]", "kept": "[3, 2]",
    "kinds": "[tailrace_dct2, tailrace_dct2]",
    "tailrace_array_transform%forward.u": "u", "tailrace_array_transform%forward.modes": "v",
    "tailrace_array_transform%backward.u": "u", "tailrace_array_transform%backward.modes": "v",
    "text": '"a line"',
}  # fmt: skip


@dataclass(frozen=True)
class Argument:
    """An argument of a procedure."""

    name: str
    type: str  # as declared: "integer", "class(tailrace_comm)", "type(*)"
    attributes: str
    shape: str  # "", "3", ":" ":, :"

    @property
    def kind(self) -> str | None:
        """The object that it is, without `tailrace_`; a product is none."""
        found = re.fullmatch(r"(?:class|type)\(tailrace_(\w+)\)", self.type)
        return found[1] if found and found[1] != "product" else None

    @property
    def is_out(self) -> bool:
        """Whether nothing is read of it."""
        return "intent(out)" in self.attributes

    def result(self) -> str:
        """A variable for a result."""
        allocatable = "allocatable" in self.attributes
        known = {"integer": "an_integer", "integer(int32)": "an_int32", "integer(int64)": "a_long",
                 "real(real64)": "a_real", "logical": "a_truth"}  # fmt: skip
        if allocatable and self.name in ("kx", "ky", "kz"):
            return self.name
        if allocatable:
            return {"i": "integers", "r": "reals", "c": "a_text"}[self.type[0]]
        return known[self.type]


@dataclass
class Procedure:
    """A procedure that is bound to a type."""

    owner: str  # tailrace_comm
    binding: str  # as it is called
    specific: str  # create_f08
    is_function: bool
    arguments: list[Argument] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.owner}%{self.binding}"

    @property
    def has_stat(self) -> bool:
        return any(one.name == "stat" for one in self.arguments)

    @property
    def swept(self) -> list[Argument]:
        return [one for one in self.arguments if one.name not in ("stat", "errmsg")]

    def values(self) -> dict[str, str]:
        return {one.name: self.good(one) for one in self.swept}

    @property
    def makes(self) -> bool:
        """Whether it makes its object."""
        made_by = {
            "tailrace_layout": (
                "blocks", "pencils", "slabs", "cart_blocks", "triangle", "own_box", "own_boxes"
            ),
            "tailrace_memory": ("of", "ordered"), "tailrace_input": ("open",),
        }  # fmt: skip
        return self.binding in made_by.get(self.owner, ("create",))

    def good(self, one: Argument) -> str:
        """Return the right value of an argument."""
        if one.name == "self":
            scratch = self.owner == "tailrace_contents" and not self.makes
            start = "scratch_" if scratch else "made_" if self.makes else "good_"
            return start + self.owner.removeprefix("tailrace_")
        if one.is_out and (not one.shape or "allocatable" in one.attributes):
            return one.result()
        for key in (f"{self.owner}%{self.specific}.", f"{self.owner}%{self.binding}.",
                    f"{self.specific}.", f"{self.binding}.", ""):  # fmt: skip
            if key + one.name in GOOD:
                return GOOD[key + one.name]
        if one.kind:
            return f"{'made' if 'intent(inout)' in one.attributes else 'good'}_{one.kind}"
        raise SystemExit(f"make_sweep.py: GOOD has no value for {self.name}: {one}")


def read(path: Path, generated: Path) -> list[Procedure]:
    """Return the public procedures of a module, which includes files of the other folder."""
    text = re.sub(
        r'^ *include "(.*)"$',
        lambda file: (generated / file[1]).read_text(),
        path.read_text(),
        flags=re.M,
    )
    text = re.sub(r"&\s*\n\s*&?", " ", re.sub(r"!.*", "", text))
    found = []
    for owner, body in TYPE.findall(text):
        for keyword, private, names in BINDING.findall(body):
            binding, _, specifics = names.partition("=>")
            for item in specifics.split(",") if keyword == "generic" else names.split(","):
                call, _, other = item.partition("=>")
                specific = (other or call).strip()
                if not private:
                    called = binding if keyword == "generic" else call
                    found.append(procedure(text, owner, called.strip(), specific))
    return found


def procedure(text: str, owner: str, binding: str, specific: str) -> Procedure:
    """Read one procedure. Modules have several of a name: the one whose object is `owner`."""
    for head in re.finditer(HEAD.format(specific), text[text.index("contains\n\n") :], re.M | re.S):
        made = Procedure(owner, binding, specific, "function" in head[1])
        declared = {}
        for type_, attributes, names in DECLARED.findall(head[3]):
            for name, shape in re.findall(r"(\w+)(?:\(([^()]*)\))?", names):
                declared.setdefault(name, Argument(name, type_, attributes, shape))
        made.arguments = [declared[name.strip()] for name in head[2].split(",")]
        if made.arguments[0].type.endswith(f"({owner})"):
            return made
    raise SystemExit(f"make_sweep.py: {owner}%{binding} is not understood")
