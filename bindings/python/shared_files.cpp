// SPDX-License-Identifier: BSD-3-Clause
// File: any bytes of a file that all ranks share.
#include "tailrace/more/file.hpp"

#include "contents.hpp"
#include "tailrace/more/agreed_error.hpp"

namespace tailrace::python {

namespace {

FileAccess access_of(std::string_view access) {
  return pick<FileAccess>(
      "access", access,
      {{"read", FileAccess::read}, {"write", FileAccess::write}, {"update", FileAccess::update}});
}

class PyFile final : public Held<File> {
 public:
  using Offset = Given<std::ptrdiff_t>;
  PyFile(nb::handle user, nb::handle path, const Given<std::string>& access, nb::handle hints)
      : Held("File", user) {
    FileAccess how{};
    Hints its_hints;
    prepare_agreed(comm(), [&] {
      path_ = path_of(path);
      how = access_of(access.take("access"));
      its_hints = hints_of(hints);
    });
    nb::gil_scoped_release released;
    with_place(path_, -1, [&] { hold(std::make_unique<File>(comm(), path_, how, its_hints)); });
  }

  void write(nb::object array, nb::object extents, nb::object box, const Offset& offset) {
    auto& file = **this;
    move(array, extents, box, offset, Use::read,
         [&](const FilePart& part, std::byte* data) { file.write(part, data); });
  }
  void read(nb::object array, nb::object extents, nb::object box, const Offset& offset) {
    auto& file = **this;
    move(array, extents, box, offset, Use::write,
         [&](const FilePart& part, std::byte* data) { file.read(part, data); });
  }
  void close() override {
    close_after([](File& file) { file.close(); });
  }

 private:
  /// A rank without a box takes part with nothing.
  template <class Action>
  void move(nb::object object, nb::object extents, nb::object box, const Offset& offset, Use use,
            Action&& action) {
    FilePart part;
    std::optional<Array> array;
    prepare_agreed(comm(), [&] {
      const auto its_box = taken<Box>(box, "box", "a Box or None");
      if (!its_box) return;
      const std::span boxes(&*its_box, 1);
      array.emplace(object, use, "array");
      auto memory = memory_of(*array, boxes, "array");
      if (memory.boxes.empty()) memory = Memory::dense(boxes);
      part = FilePart::boxes(
          {offset.take("offset"), numbers_of(extents, "extents"), item_bytes(array->type)}, boxes,
          memory);
    });
    nb::gil_scoped_release released;
    with_place(path_, -1, [&] { action(part, array ? array->data : nullptr); });
    nb::gil_scoped_acquire again;
    array.reset();
  }
  std::string path_;
};

#define PART                                                                                   \
  "array: typing.Any, extents: collections.abc.Sequence[int], box: Box | None, offset: int = " \
  "0) -> None"

}  // namespace

void bind_shared_files(nb::module_& module) {
  nb::class_<PyFile> bound(module, "File",
                           "Any bytes of a file that all ranks share, by any strategy and back\n"
                           "end (hints, docs/files.md). `access`: \"read\", \"write\" (a\n"
                           "new file) or \"update\". Collective, blocking.");
  bound
      .def(
          "__init__",
          [](PyFile* self, nb::object comm, nb::object path, Given<std::string> access,
             nb::object hints) { new (self) PyFile(comm, path, access, hints); },
          nb::arg("comm").none(), nb::arg("path").none(), nb::arg("access").none() = "read",
          nb::arg("hints").none() = nb::none(),
          nb::sig("def __init__(self, comm: mpi4py.MPI.Intracomm, path: str | os.PathLike[str], "
                  "access: str = 'read', hints: collections.abc.Mapping[str, object] | None = "
                  "None) -> None"))
      .def("write", &PyFile::write, nb::arg("array").none(), nb::arg("extents").none(),
           nb::arg("box").none(), nb::arg("offset").none() = 0, nb::sig("def write(self, " PART),
           "Writes this rank's `box` of a row-major array of `extents` that begins at byte "
           "`offset`;\n"
           "a rank with None writes nothing. Collective, blocking.")
      .def("read", &PyFile::read, nb::arg("array").none(), nb::arg("extents").none(),
           nb::arg("box").none(), nb::arg("offset").none() = 0, nb::sig("def read(self, " PART),
           "Reads this rank's `box` into `array`. Collective, blocking.")
      .def_prop_ro(
          "statistics", [](PyFile& self) { return statistics_of(self->statistics()); },
          nb::sig("def statistics(self) -> dict[str, float]"))
      .def(
          "total_statistics",
          [](PyFile& self) {
            auto& file = *self;
            const auto total = [&] {
              nb::gil_scoped_release released;
              return file.total_statistics();
            }();
            return statistics_of(total);
          },
          nb::sig("def total_statistics(self) -> dict[str, float]"),
          "Sums over the ranks; times are those of the slowest rank. Collective, blocking.")
      .def_prop_ro(
          "settings",
          [](PyFile& self) {
            nb::dict dict;
            for (const auto& setting : self->settings()) {
              dict[setting.name.c_str()] = nb::make_tuple(setting.value, setting.source);
            }
            return dict;
          },
          nb::sig("def settings(self) -> dict[str, tuple[str, str]]"),
          "The hints in effect, and where each value comes from.");
  bind_closing(bound, "Flushes and closes. Collective.");
}

}  // namespace tailrace::python
