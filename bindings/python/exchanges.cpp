// SPDX-License-Identifier: BSD-3-Clause
// Exchange: moves NumPy arrays from one layout to another.
#include "tailrace/exchange.hpp"

#include "arrays.hpp"

namespace tailrace::python {

namespace {

/// `arrays` as a list: one array, or a list or tuple of them.
std::vector<nb::object> listed(nb::handle arrays) {
  if (!nb::isinstance<nb::list>(arrays) && !nb::isinstance<nb::tuple>(arrays)) {
    return {nb::borrow(arrays)};
  }
  std::vector<nb::object> list;
  for (const auto array : nb::iter(arrays)) list.push_back(nb::borrow(array));
  return list;
}

struct ExchangeArguments {
  nb::object source, destination, dtype;
  Given<int> num_fields;
  Given<std::string> method;
  Given<bool> in_place;
  nb::object source_memory, destination_memory;
};

class PyExchange final : public Held<Exchange> {
 public:
  PyExchange(nb::handle user, const ExchangeArguments& arguments) : Held("Exchange", user) {
    hold(make(comm(), arguments));
  }
  ~PyExchange() override { finish_arrays(); }

  void start(nb::handle sources, nb::handle destinations) {
    auto& exchange = **this;
    prepare_or_refuse(comm(), name(), [&] { take(sources, destinations); });
    nb::gil_scoped_release released;
    exchange.start(from_, to_);
  }
  void run(nb::handle sources, nb::handle destinations) {
    auto& exchange = **this;
    prepare_or_refuse(comm(), name(), [&] { take(sources, destinations); });
    {
      nb::gil_scoped_release released;
      exchange.run(from_, to_);
    }
    arrays_.clear();
  }
  void finish() {
    auto& exchange = **this;
    {
      nb::gil_scoped_release released;
      exchange.finish();
    }
    arrays_.clear();
  }
  /// The end of the object waits for the transfer, which needs the arrays.
  void close() override { finish_arrays(); }

 private:
  std::unique_ptr<Exchange> make(const Comm& comm, const ExchangeArguments& arguments) {
    std::optional<Plan> plan;
    std::string method;
    prepare_agreed(comm, [&] {
      type_ = item_type_of(arguments.dtype);
      num_fields_ = arguments.num_fields.take("num_fields");
      in_place_ = arguments.in_place.take("in_place");
      method = arguments.method.take("method");
      const auto source = layout_for(comm, arguments.source, "source");
      const auto destination = layout_for(comm, arguments.destination, "destination");
      plan.emplace(source, destination, comm.rank());
      source_boxes_ = source.boxes(comm.rank());
      destination_boxes_ = destination.boxes(comm.rank());
      source_ = taken<Memory>(arguments.source_memory, "source_memory", "a Memory")
                    .value_or(Memory::dense(source_boxes_));
      destination_ = taken<Memory>(arguments.destination_memory, "destination_memory", "a Memory")
                         .value_or(Memory::dense(destination_boxes_));
    });
    nb::gil_scoped_release released;
    return std::make_unique<Exchange>(
        comm, *plan, source_, destination_,
        ExchangeShape{
            .item_bytes = item_bytes(type_), .num_fields = num_fields_, .in_place = in_place_},
        method);
  }
  static Layout layout_for(const Comm& comm, nb::handle given, std::string_view name) {
    auto layout = taken<Layout>(given, name, "a Layout");
    if (!layout) refuse(fmt::format("{}: needs a Layout, not None", name));
    if (layout->num_ranks() != comm.num_ranks()) {
      refuse(fmt::format("{}: a layout for {} ranks, the communicator has {}", name,
                         layout->num_ranks(), comm.num_ranks()));
    }
    return *std::move(layout);
  }
  void finish_arrays() {
    Held::close();
    arrays_.clear();
  }
  void take(nb::handle sources, nb::handle destinations) {
    if (!arrays_.empty()) refuse("a transfer is under way: `finish` it first");
    const auto from = listed(sources);
    const auto to = listed(destinations);
    const auto wanted = static_cast<std::size_t>(num_fields_);
    if (from.size() != wanted || to.size() != wanted) {
      refuse(fmt::format("{} source arrays and {} destinations; it was created for {} fields",
                         from.size(), to.size(), num_fields_));
    }
    std::vector<Array> arrays;
    std::vector<const void*> from_places;
    std::vector<void*> to_places;
    for (std::size_t f = 0; f < wanted; ++f) {
      arrays.push_back(checked(from[f], Use::read, fmt::format("source {}", f)));
      from_places.push_back(arrays.back().data);
      arrays.push_back(checked(to[f], Use::write, fmt::format("destination {}", f)));
      to_places.push_back(arrays.back().data);
    }
    arrays_ = std::move(arrays);
    from_ = std::move(from_places);
    to_ = std::move(to_places);
  }
  Array checked(nb::handle object, Use use, const std::string& what) const {
    Array array(object, use, what);
    if (array.type != type_) {
      refuse(fmt::format("{}: has items {}; the exchange was created for {}", what,
                         name_of(array.type), name_of(type_)));
    }
    const bool source = use == Use::read;
    const auto& memory = source ? source_ : destination_;
    const auto larger = std::max(source_.num_items, destination_.num_items);
    if (in_place_ && array.contiguous() && array.num_items() == larger) return array;
    require_memory(array, memory, source ? source_boxes_ : destination_boxes_, what);
    return array;
  }

  ItemType type_ = ItemType::float64;
  int num_fields_ = 1;
  bool in_place_ = false;
  std::vector<Box> source_boxes_, destination_boxes_;
  Memory source_, destination_;
  std::vector<Array> arrays_;  // of the transfer under way
  std::vector<const void*> from_;
  std::vector<void*> to_;
};

constexpr const char* exchange_doc =
    "Moves arrays from one layout to another, repeatedly.\n"
    "\n"
    "`comm` is an mpi4py communicator, `dtype` the type of the items, `method` a name of\n"
    "`move_methods()` or \"auto\". Arrays are NumPy arrays with the shape of this rank's box\n"
    "(`layout.shape(rank)`), or 1D arrays with all items of its boxes. They are used in place.\n"
    "For arrays with a halo or permuted axes, pass `source_memory` and `destination_memory`\n"
    "(`Memory.of(view, box)`). Collective, blocking.\n"
    "\n"
    ">>> import numpy as np, tailrace\n"
    ">>> from mpi4py import MPI\n"
    ">>> comm = MPI.COMM_WORLD\n"
    ">>> rows = tailrace.slabs((8, 6), axis=0, num_ranks=comm.size)\n"
    ">>> columns = tailrace.slabs((8, 6), axis=1, num_ranks=comm.size)\n"
    ">>> u = np.full(rows.shape(comm.rank), 3.0)\n"
    ">>> v = np.empty(columns.shape(comm.rank))\n"
    ">>> with tailrace.Exchange(comm, rows, columns) as exchange:\n"
    "...     exchange.run(u, v)\n"
    ">>> bool((v == 3).all())\n"
    "True";

#define ARRAYS "source: typing.Any, destination: typing.Any) -> None"

}  // namespace

void bind_exchanges(nb::module_& module) {
  nb::class_<PyExchange> bound(module, "Exchange", exchange_doc);
  bound
      .def(
          "__init__",
          [](PyExchange* self, nb::object comm, nb::object source, nb::object destination,
             nb::object dtype, Given<int> num_fields, Given<std::string> method,
             Given<bool> in_place, nb::object source_memory, nb::object destination_memory) {
            new (self) PyExchange(comm, {source, destination, dtype, num_fields, method, in_place,
                                         source_memory, destination_memory});
          },
          nb::arg("comm").none(), nb::arg("source").none(), nb::arg("destination").none(),
          nb::arg("dtype").none() = "float64", nb::arg("num_fields").none() = 1, nb::kw_only(),
          nb::arg("method").none() = "auto", nb::arg("in_place").none() = false,
          nb::arg("source_memory").none() = nb::none(),
          nb::arg("destination_memory").none() = nb::none(),
          nb::sig("def __init__(self, comm: mpi4py.MPI.Intracomm, source: Layout, destination: "
                  "Layout, dtype: numpy.typing.DTypeLike = 'float64', num_fields: int = 1, *, "
                  "method: str = 'auto', in_place: bool = False, source_memory: Memory | None = "
                  "None, destination_memory: Memory | None = None) -> None"))
      .def("run", &PyExchange::run, nb::arg("source").none(), nb::arg("destination").none(),
           nb::sig("def run(self, " ARRAYS),
           "Moves `source` to `destination`: arrays, or lists with one array per field.\n"
           "Collective, blocking.")
      .def("start", &PyExchange::start, nb::arg("source").none(), nb::arg("destination").none(),
           nb::sig("def start(self, " ARRAYS),
           "Begins the transfer; do not use the arrays until `finish` returns.")
      .def("progress", &without_lock<PyExchange, &Exchange::progress>,
           "Advances the transfer; True if `finish` would not wait. Local.")
      .def("finish", &PyExchange::finish, "Waits until the data has arrived. Collective, blocking.")
      .def_prop_ro("method", [](PyExchange& self) { return std::string(self->method()); })
      .def_prop_ro(
          "why", [](PyExchange& self) { return std::string(self->why()); },
          "The reason why \"auto\" chose the method.")
      .def_prop_ro("num_ranks_together",
                   [](PyExchange& self) { return self->num_ranks_together(); })
      .def_prop_ro("buffer_bytes", [](PyExchange& self) { return self->buffer_bytes(); });
  bind_closing(bound, "Completes a transfer in progress, and frees buffers. Collective.");
}

}  // namespace tailrace::python
