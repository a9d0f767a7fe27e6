// SPDX-License-Identifier: BSD-3-Clause
// Box, Layout and its makers, Memory, Plan.
#include <optional>

#include "arrays.hpp"
#include "tailrace/more/plan.hpp"

namespace tailrace::python {

namespace {

nb::tuple extents_of(const Index& values, int num_dims) {
  return tuple_of(values.data(), num_dims);
}

Box make_box(nb::handle start, nb::handle extents) {
  const auto from = numbers_of(start, "start");
  const auto size = numbers_of(extents, "extents");
  if (from.size() != size.size() || from.size() > static_cast<std::size_t>(max_dims)) {
    refuse(fmt::format("Box: start has {} axes, extents {}; needs equal numbers, at most {}",
                       from.size(), size.size(), max_dims));
  }
  Box box;
  box.num_dims = static_cast<int>(from.size());
  std::copy(from.begin(), from.end(), box.start.begin());
  std::copy(size.begin(), size.end(), box.extents.begin());
  return box;
}

nb::tuple slices_of(const Box& box) {
  nb::list slices;
  for (std::size_t d = 0; d < static_cast<std::size_t>(box.num_dims); ++d) {
    slices.append(nb::steal(PySlice_New(nb::int_(box.start[d]).ptr(),
                                        nb::int_(box.start[d] + box.extents[d]).ptr(), nullptr)));
  }
  return nb::tuple(slices);
}

void require_rank(const Layout& layout, int rank) {
  if (rank >= 0 && rank < layout.num_ranks()) return;
  refuse(fmt::format("rank {}: the layout has {} ranks", rank, layout.num_ranks()));
}

Box only_box(const Layout& layout, int rank) {
  require_rank(layout, rank);
  return layout.box(rank);
}

void bind_boxes(nb::module_& module) {
  nb::class_<Box>(module, "Box", "A box of a global index space: lower corner and extents.")
      .def(
          "__init__",
          [](Box* self, nb::object start, nb::object extents) {
            new (self) Box(make_box(start, extents));
          },
          nb::arg("start"), nb::arg("extents").none(),
          nb::sig("def __init__(self, start: collections.abc.Sequence[int], extents: "
                  "collections.abc.Sequence[int]) -> None"))
      .def_prop_ro(
          "start", [](const Box& box) { return extents_of(box.start, box.num_dims); },
          nb::sig("def start(self) -> tuple[int, ...]"), "Global index of the first item.")
      .def_prop_ro(
          "extents", [](const Box& box) { return extents_of(box.extents, box.num_dims); },
          nb::sig("def extents(self) -> tuple[int, ...]"), "Items along each axis.")
      .def_prop_ro("slices", &slices_of, nb::sig("def slices(self) -> tuple[slice, ...]"),
                   "The part of a global NumPy array: `whole[box.slices]`.")
      .def_prop_ro("num_items", &Box::num_items)
      .def(
          "__eq__", [](const Box& a, const Box& b) { return a == b; }, nb::arg("other"),
          nb::sig("def __eq__(self, other: object) -> bool"), nb::is_operator())
      .def("__repr__", [](const Box& box) { return "Box(" + box.describe() + ")"; });
}

void bind_layout_class(nb::module_& module) {
  nb::class_<Layout>(module, "Layout",
                     "The boxes of a global index space that each rank holds. Plain data, no MPI.\n"
                     "\n"
                     ">>> import tailrace\n"
                     ">>> layout = tailrace.slabs((7, 4), axis=0, num_ranks=3)\n"
                     ">>> [layout.shape(rank) for rank in range(3)]\n"
                     "[(3, 4), (2, 4), (2, 4)]\n"
                     ">>> layout.box(1)\n"
                     "Box([3:5, 0:4])")
      .def_prop_ro(
          "extents",
          [](const Layout& self) { return extents_of(self.global_extents(), self.num_dims()); },
          nb::sig("def extents(self) -> tuple[int, ...]"), "Extents of the global index space.")
      .def_prop_ro("num_dims", &Layout::num_dims)
      .def_prop_ro("num_ranks", &Layout::num_ranks)
      .def(
          "boxes",
          [](const Layout& self, int rank) {
            require_rank(self, rank);
            return self.boxes(rank);
          },
          nb::arg("rank"), "The boxes of `rank`: none, one or several.")
      .def("box", &only_box, nb::arg("rank"),
           "The only box of `rank`; an empty box if it has none, an error if it has several.")
      .def(
          "shape",
          [](const Layout& self, int rank) {
            const auto box = only_box(self, rank);
            return extents_of(box.extents, box.num_dims);
          },
          nb::arg("rank"), nb::sig("def shape(self, rank: int) -> tuple[int, ...]"),
          "Shape of the array of `rank`: the extents of its one box.")
      .def(
          "num_items",
          [](const Layout& self, int rank) {
            require_rank(self, rank);
            return self.num_items(rank);
          },
          nb::arg("rank"))
      .def(
          "ranks_touching",
          [](const Layout& self, const Box& box) { return self.ranks_touching(box); },
          nb::arg("box"), "Ranks with an item in `box`, ascending.")
      .def("__repr__", [](const Layout& self) { return "Layout(" + self.describe() + ")"; });
}

#define EXTENTS "extents: collections.abc.Sequence[int], "

std::vector<int> ints_of(nb::handle object, const std::string& what) {
  std::vector<int> ints;
  for (const auto number : numbers_of(object, what)) ints.push_back(to_int(number));
  return ints;
}

void bind_makers(nb::module_& module) {
  module.def(
      "blocks",
      [](nb::object extents, nb::object grid, nb::object order) {
        return blocks(numbers_of(extents, "extents"), ints_of(grid, "grid"),
                      ints_of(order, "order"));
      },
      nb::arg("extents").none(), nb::arg("grid").none(), nb::arg("order").none() = nb::tuple(),
      nb::sig("def blocks(" EXTENTS "grid: collections.abc.Sequence[int], "
              "order: collections.abc.Sequence[int] = ()) -> Layout"),
      "Blocks on a grid of ranks: grid[d] parts along axis d. `order` is the order in which ranks\n"
      "are numbered along the axes of the grid, the slowest axis first. The default (0, 1, 2) is\n"
      "row-major, as in MPI_Cart_create.");
  module.def(
      "pencils",
      [](nb::object extents, int axis, nb::object grid, nb::object order) {
        return pencils(numbers_of(extents, "extents"), axis, ints_of(grid, "grid"),
                       ints_of(order, "order"));
      },
      nb::arg("extents").none(), nb::arg("axis"), nb::arg("grid").none(),
      nb::arg("order").none() = nb::tuple(),
      nb::sig("def pencils(" EXTENTS "axis: int, grid: collections.abc.Sequence[int], "
              "order: collections.abc.Sequence[int] = ()) -> Layout"),
      "Pencils of 3 axes: whole along `axis`, grid[0] x grid[1] parts along the others. `order` "
      "as\n"
      "for `blocks`: (0, 1) or (1, 0).");
  module.def(
      "cart_blocks",
      [](nb::object comm, nb::object extents, nb::object axes) {
        const Comm ranks(communicator(comm));
        std::optional<Layout> made;
        prepare_agreed(ranks, [&] {
          made = cart_blocks(ranks, numbers_of(extents, "extents"), ints_of(axes, "axes"));
        });
        return *made;
      },
      nb::arg("comm").none(), nb::arg("extents").none(), nb::arg("axes").none() = nb::tuple(),
      nb::sig("def cart_blocks(comm: mpi4py.MPI.Cartcomm, " EXTENTS
              "axes: collections.abc.Sequence[int] = ()) -> Layout"),
      "Blocks on the grid of ranks of `comm`, a communicator of MPI_Cart_create (`Create_cart`): "
      "each\n"
      "rank holds the block at its coordinates. Dimension d of the grid divides axis axes[d] of "
      "the\n"
      "array, or axis d without `axes`. Each rank holds the other axes completely. Collective "
      "over\n"
      "`comm`.");
  module.def(
      "slabs",
      [](nb::object extents, int axis, int num_ranks) {
        return slabs(numbers_of(extents, "extents"), axis, num_ranks);
      },
      nb::arg("extents").none(), nb::arg("axis"), nb::arg("num_ranks"),
      nb::sig("def slabs(" EXTENTS "axis: int, num_ranks: int) -> Layout"),
      "Slabs: `num_ranks` parts along `axis`, whole along the others.");
  module.def(
      "from_boxes",
      [](nb::object extents, std::vector<std::vector<Box>> boxes) {
        return from_boxes(numbers_of(extents, "extents"), std::move(boxes));
      },
      nb::arg("extents").none(), nb::arg("boxes"),
      nb::sig("def from_boxes(" EXTENTS
              "boxes: collections.abc.Sequence[collections.abc.Sequence[Box]]) -> Layout"),
      "Any boxes: boxes[rank] lists the boxes of each rank. They may overlap if they are read, or "
      "are\n"
      "the destination of an exchange, but not if they are written or are its source. Files "
      "contain\n"
      "`_FillValue` or 0 in gaps.");
  module.def(
      "own_box",
      [](nb::object comm, nb::object extents, nb::object start, nb::object count) {
        const Comm ranks(communicator(comm));
        std::vector<std::ptrdiff_t> whole, first, items;
        prepare_agreed(ranks, [&] {
          whole = numbers_of(extents, "extents");
          first = numbers_of(start, "start");
          items = numbers_of(count, "count");
        });
        nb::gil_scoped_release released;
        return own_box(ranks, whole, first, items);
      },
      nb::arg("comm").none(), nb::arg("extents").none(), nb::arg("start").none(),
      nb::arg("count").none(),
      nb::sig("def own_box(comm: mpi4py.MPI.Intracomm, " EXTENTS
              "start: collections.abc.Sequence[int], "
              "count: collections.abc.Sequence[int]) -> Layout"),
      "The program's own decomposition: each rank passes the part that it holds, by the index of "
      "its\n"
      "first item and the number of items along each axis. A rank with a count of 0 holds "
      "nothing.\n"
      "Gaps and overlaps are as for `from_boxes`. The part does not include a halo: pass arrays\n"
      "without it, such as u[1:-1, 1:-1]. Collective over `comm`.");
  module.def(
      "own_boxes",
      [](nb::object comm, nb::object extents, nb::object boxes) {
        const Comm ranks(communicator(comm));
        std::vector<std::ptrdiff_t> whole;
        std::vector<Box> own;
        prepare_agreed(ranks, [&] {
          whole = numbers_of(extents, "extents");
          if (!nb::try_cast(boxes, own))
            refuse("boxes: needs a list of Box, not " + repr_of(boxes));
        });
        nb::gil_scoped_release released;
        return own_boxes(ranks, whole, own);
      },
      nb::arg("comm").none(), nb::arg("extents").none(), nb::arg("boxes").none(),
      nb::sig("def own_boxes(comm: mpi4py.MPI.Intracomm, " EXTENTS
              "boxes: collections.abc.Sequence[Box]) -> Layout"),
      "Like `own_box`, for ranks that hold several boxes, or none. Collective over `comm`.");
  module.def(
      "file_domains",
      [](nb::object extents, std::ptrdiff_t item_bytes, nb::object writers, int num_ranks,
         std::ptrdiff_t stripe_bytes, std::ptrdiff_t file_offset) {
        return file_domains(numbers_of(extents, "extents"), item_bytes, ints_of(writers, "writers"),
                            num_ranks, stripe_bytes, file_offset);
      },
      nb::arg("extents").none(), nb::arg("item_bytes"), nb::arg("writers").none(),
      nb::arg("num_ranks"), nb::arg("stripe_bytes") = 0, nb::arg("file_offset") = 0,
      nb::sig("def file_domains(" EXTENTS
              "item_bytes: int, writers: collections.abc.Sequence[int], "
              "num_ranks: int, stripe_bytes: int = 0, file_offset: int = 0) -> Layout"),
      "Contiguous runs of a row-major file that end at stripe boundaries, one for each writer.");
  module.def(
      "cyclic_domains",
      [](nb::object extents, std::ptrdiff_t item_bytes, nb::object writers, int num_ranks,
         std::ptrdiff_t stripe_bytes, std::ptrdiff_t file_offset) {
        return cyclic_domains(numbers_of(extents, "extents"), item_bytes,
                              ints_of(writers, "writers"), num_ranks, stripe_bytes, file_offset);
      },
      nb::arg("extents").none(), nb::arg("item_bytes"), nb::arg("writers").none(),
      nb::arg("num_ranks"), nb::arg("stripe_bytes"), nb::arg("file_offset") = 0,
      nb::sig("def cyclic_domains(" EXTENTS
              "item_bytes: int, writers: collections.abc.Sequence[int], "
              "num_ranks: int, stripe_bytes: int, file_offset: int = 0) -> Layout"),
      "Stripes of a row-major file: writer s modulo the number of writers holds stripe s.");
  module.def(
      "triangle", &triangle, nb::arg("n"), nb::arg("num_ranks"),
      "The upper triangle (row <= column) of an n x n grid in square blocks, distributed so that "
      "all\n"
      "ranks have about the same number of items. Blocks on the diagonal are complete squares.");
}

void bind_memory(nb::module_& module) {
  nb::class_<Memory>(module, "Memory", "The arrangement of a rank's boxes in its array.")
      .def_static(
          "dense", [](const std::vector<Box>& boxes) { return Memory::dense(boxes); },
          nb::arg("boxes"), "Boxes one after another, each row-major without gaps.")
      .def_static(
          "ordered",
          [](const Box& box, nb::object order, nb::object halo) {
            const auto width =
                halo.is_none() ? std::vector<std::ptrdiff_t>{} : numbers_of(halo, "halo");
            return Memory::ordered(box, ints_of(order, "order"), width);
          },
          nb::arg("box"), nb::arg("order").none(), nb::arg("halo").none() = nb::none(),
          nb::sig("def ordered(box: Box, order: collections.abc.Sequence[int], halo: "
                  "collections.abc.Sequence[int] | None = None) -> Memory"),
          "One box with its axes stored in `order` (slowest first), and halo[d] items on both "
          "sides.")
      .def_static(
          "of",
          [](nb::object view, const Box& box) {
            const Array array(view, Use::read, "view");
            auto memory = memory_of(array, std::span(&box, 1), "view");
            if (memory.boxes.empty()) memory = Memory::dense(std::span(&box, 1));
            return memory;
          },
          nb::arg("view").none(), nb::arg("box"),
          nb::sig("def of(view: object, box: Box) -> Memory"),
          "The arrangement of `view`, an array with the shape of the box: for example a section of "
          "a\n"
          "larger array without its halo, or an array with permuted axes.")
      .def_ro("num_items", &Memory::num_items,
              "Number of items of the whole array, including the halo.");
}

std::ptrdiff_t items_of(std::ptrdiff_t item_bytes) {
  if (item_bytes < 1) refuse(fmt::format("item_bytes is {}; an item has 1 or more", item_bytes));
  return item_bytes;
}

void bind_plan(nb::module_& module) {
  nb::class_<Plan>(module, "Plan",
                   "The boxes that one rank sends to and receives from each other rank. No MPI.")
      .def(nb::init<const Layout&, const Layout&, int>(), nb::arg("source").none(),
           nb::arg("destination").none(), nb::arg("rank"))
      .def(
          "bytes",
          [](const Plan& self, std::ptrdiff_t bytes) { return self.bytes(items_of(bytes)); },
          nb::arg("item_bytes"),
          nb::sig("def bytes(self, item_bytes: int) -> list[tuple[int, int]]"),
          "This rank's row of the byte matrix: (peer, bytes sent), peers ascending.")
      .def(
          "describe",
          [](const Plan& self, std::ptrdiff_t bytes) { return self.describe(items_of(bytes)); },
          nb::arg("item_bytes"));
}

}  // namespace

void bind_layouts(nb::module_& module) {
  bind_boxes(module);
  bind_layout_class(module);
  bind_makers(module);
  bind_memory(module);
  bind_plan(module);
}

}  // namespace tailrace::python
