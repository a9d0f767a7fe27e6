// SPDX-License-Identifier: BSD-3-Clause
// Reading checks whatever it reads, each piece and box once, and names what is wrong; so do files
// that cannot be read, with one message on every rank.
#include <functional>

#include <fmt/format.h>
#include <xxhash.h>

#include "foreign_file.hpp"
#include "store/file_image.hpp"
#include "store_fixture.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"

namespace tailrace {
namespace {

using namespace store_test;

class IntegrityTest : public FolderTest {
 protected:
  /// The same error on every rank, with `words` in it.
  void expect_error(Errc code, const std::string& words, const std::function<void()>& action) {
    std::string text = "no error";
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      text = error.what();
    }
    EXPECT_NE(text.find(words), std::string::npos) << text;
    std::string first = text;
    first.resize(1000);
    MPI_Bcast(first.data(), 1000, MPI_CHAR, 0, comm.raw());
    EXPECT_EQ(text, std::string(first.c_str())) << "another error on rank " << comm.rank();
  }
  void on_rank_0(const std::function<void()>& action) {
    MPI_Barrier(comm.raw());
    if (comm.rank() == 0) action();
    MPI_Barrier(comm.raw());
  }
  void flip(const std::string& file, std::ptrdiff_t at) {
    on_rank_0([&] {
      std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
      bytes.seekg(at);
      const char old = static_cast<char>(bytes.get());
      bytes.seekp(at);
      bytes.put(static_cast<char>(old ^ 8));
    });
  }
  std::ptrdiff_t wrong_items(const Input& input, int axis) {
    const auto layout = slabs(input.extents("u"), axis, comm.num_ranks());
    const auto memory = Memory::dense(layout.boxes(comm.rank()));
    std::vector<double> data(static_cast<std::size_t>(memory.num_items));
    input.read("u", ItemType::float64, layout, memory, data.data());
    return num_wrong(data, layout, memory, comm.rank(), 0);
  }
  void write_u(const std::string& file, std::vector<std::ptrdiff_t> extents, int axis,
               OutputOptions options) {
    options.servers = "none";
    const auto layout = slabs(extents, axis, comm.num_ranks());
    const auto memory = Memory::dense(layout.boxes(comm.rank()));
    const auto u = filled<double>(layout, memory, comm.rank(), 0);
    FileContents contents;
    contents.variables = {{"u", ItemType::float64, {"z", "y", "x"}, &layout, memory, u.data(), {}}};
    Output output(comm, options);
    output.write(file, contents);
  }
};

/// A contiguous u of 24 x 40 x 50 doubles with a table of boxes, not in order; offset of the data.
std::ptrdiff_t write_box_file(const std::string& path) {
  const ForeignFile file(path);
  const auto u = file.make("u", H5T_NATIVE_DOUBLE, {24, 40, 50});
  file.fill(u);
  std::vector<store::BoxRow> rows;
  for (std::size_t z = 24; z-- > 0; --z) {
    for (std::size_t x = 0; x < 50; x += 20) {
      store::BoxRow row;
      row.start = {z - 1, 0, x, 0, 0};
      row.extents = {2, 40, std::min<std::size_t>(20, 50 - x), 1, 1};
      std::vector<double> items;
      for (std::size_t i = 0; i < 80; ++i) {
        for (std::size_t k = x; k < x + row.extents[2]; ++k) {
          items.push_back(static_cast<double>(((z - 1) * 40 + i) * 50 + k));
        }
      }
      row.xxh3 = XXH3_64bits(items.data(), items.size() * sizeof(double));
      rows.push_back(row);
    }
  }
  const auto table = file.make("tailrace/boxes", H5T_STD_U64LE, {rows.size(), 12});
  H5Dwrite(table.id(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data());
  store::write_attributes(table.id(), {{"variables", std::string("u\n")}});
  H5Fflush(file.id(), H5F_SCOPE_LOCAL);
  return static_cast<std::ptrdiff_t>(H5Dget_offset(u.id()));
}

TEST_F(IntegrityTest, BoxesAreCheckedOnceAndNamed) {
  std::ptrdiff_t offset = 0;
  on_rank_0([&] { offset = write_box_file(path("a.h5")); });
  MPI_Bcast(&offset, 1, MPI_AINT, 0, comm.raw());
  for (const int group_size : {0, 1, 2, 100}) {
    for (int axis = 0; axis < 3; ++axis) {
      InputOptions options;
      options.group_size = group_size;
      options.buffer_bytes = axis == 0 ? 1 : 100000;
      const Input input(comm, path("a.h5"), options);
      EXPECT_EQ(wrong_items(input, axis), 0);
      EXPECT_EQ(input.total_statistics().checked, 36);
    }
  }
  flip(path("a.h5"), offset + 8 * ((5 * 40 + 7) * 50 + 41));
  const Input input(comm, path("a.h5"));
  expect_error(Errc::corrupt,
               fmt::format("dataset u, box [4:6, 0:40, 40:50] (file offset {})",
                           offset + 8 * (4 * 40 * 50 + 40)),
               [&] { wrong_items(input, 1); });
  std::vector<double> all(24 * 40 * 50);
  expect_error(Errc::corrupt, "dataset u, box [4:6, 0:40, 40:50]",
               [&] { input.read_all("u", ItemType::float64, all.data()); });
  InputOptions unchecked;
  unchecked.checks = false;
  const Input trusting(comm, path("a.h5"), unchecked);
  trusting.read_all("u", ItemType::float64, all.data());
  EXPECT_EQ(trusting.total_statistics().checked, 0);
}

// Stripes that are no multiples of pieces cut odd pieces; still nobody reads one twice.
TEST_F(IntegrityTest, PiecesAreReadAndCheckedOnce) {
  OutputOptions options;
  options.stripe_bytes = 4096;
  write_u(path("a.h5"), {40, 100, 101}, 0, options);  // 3.2 MB
  InputOptions each;
  each.group_size = 1;
  const Input input(comm, path("a.h5"), each);
  EXPECT_EQ(wrong_items(input, 1), 0);
  const auto total = input.total_statistics();
  EXPECT_EQ(total.bytes_read, 40 * 100 * 101 * 8);
  EXPECT_GE(total.checked, 4);
  EXPECT_LE(total.checked, 4 + comm.num_ranks());
  EXPECT_LE(total.opens, comm.num_ranks());
}

/// The file and the byte of it that hold an item in the middle of u, found by its value.
std::pair<std::string, std::ptrdiff_t> find_value(const fs::path& folder, double value) {
  const std::string wanted(reinterpret_cast<const char*>(&value), sizeof(value));
  for (const auto& item : fs::recursive_directory_iterator(folder)) {
    if (!item.is_regular_file()) continue;
    const auto at = slurp(item.path()).find(wanted);
    if (at != std::string::npos) return {item.path().string(), static_cast<std::ptrdiff_t>(at)};
  }
  return {"", 0};
}

TEST_F(IntegrityTest, FilesOfEveryStrategyAreReadAndChecked) {
  const std::vector<std::ptrdiff_t> extents{30, 70, 80};
  const auto layout = pencils(extents, 0, grid_of(comm.num_ranks()));
  const auto memory = Memory::dense(layout.boxes(comm.rank()));
  const auto u = filled<double>(layout, memory, comm.rank(), 0);
  FileContents contents;
  contents.variables = {{"u", ItemType::float64, {"z", "y", "x"}, &layout, memory, u.data(), {}}};
  for (const auto* strategy :
       {"spokesperson", "collective", "shared_independent", "grouped", "file_per_rank"}) {
    OutputOptions options;
    options.servers = "none";
    options.strategy = strategy;
    on_rank_0([&] { fs::create_directories(path(strategy)); });
    const auto file = path(strategy) + "/a.h5";
    Output(comm, options).write(file, contents);
    for (const int group_size : {0, 1, 2}) {
      InputOptions groups;
      groups.group_size = group_size;
      const Input input(comm, file, groups);
      for (int axis = 0; axis < 3; ++axis) EXPECT_EQ(wrong_items(input, axis), 0) << strategy;
      const auto total = input.total_statistics();
      EXPECT_GE(total.checked, 3 * 2) << strategy;
      EXPECT_EQ(total.bytes_read, std::ptrdiff_t{3} * 30 * 70 * 80 * 8) << strategy;
      std::vector<double> all(30 * 70 * 80);
      input.read_all("u", ItemType::float64, all.data());
      EXPECT_EQ(all[12345], 12345.0) << strategy;
    }
    MPI_Barrier(comm.raw());
    const auto [name, at] = find_value(path(strategy), 15 * 70 * 80 + 35 * 80 + 41);
    ASSERT_NE(name, "") << strategy;
    flip(name, at);
    const Input input(comm, file);
    std::string text = "no error";
    try {
      wrong_items(input, 1);
    } catch (const Error& error) {
      text = error.what();
    }
    EXPECT_NE(text.find("is damaged: dataset u, box ["), std::string::npos) << text;
    if (name != file) {
      EXPECT_NE(text.find(" of " + name + ")"), std::string::npos) << text;
    }
    MPI_Barrier(comm.raw());
  }
}

TEST_F(IntegrityTest, TheFirstOfManyDamagedPiecesIsNamed) {
  write_u(path("a.h5"), {64, 128, 128}, 0, {});  // 8 MiB from the first stripe on
  for (const std::ptrdiff_t at : {3, 5, 6}) flip(path("a.h5"), (at << 20) + 99);
  const Input input(comm, path("a.h5"));
  std::vector<double> all(64 * 128 * 128);
  expect_error(Errc::corrupt,
               "dataset u, box [16:24, 0:128, 0:128], bytes 2097152 to 3145727 (file offset "
               "3145728) does not match its checksum",
               [&] { input.read_all("u", ItemType::float64, all.data()); });
}

TEST_F(IntegrityTest, FilesThatAreNoneAndArraysThatAreNotThere) {
  write_u(path("a.h5"), {24, 40, 50}, 2, {});
  const auto whole = slurp(path("a.h5"));
  const auto put = [&](const std::string& bytes) {
    on_rank_0([&] { std::ofstream(path("b.h5"), std::ios::binary) << bytes; });
  };
  const auto open = [&] { const Input input(comm, path("b.h5")); };
  expect_error(Errc::io, "b.h5: No such file or directory", open);
  put("Conventional weather report, not an HDF5 file\n");
  expect_error(Errc::corrupt, "b.h5 is not an HDF5 file (46 bytes", open);
  put(whole.substr(0, whole.size() / 2));
  expect_error(Errc::corrupt, "b.h5 is not a whole HDF5 file: cut short", open);
  on_rank_0([&] { fs::create_directories(path("folder")); });
  expect_error(Errc::corrupt, "folder is a folder",
               [&] { const Input input(comm, path("folder")); });

  const Input input(comm, path("a.h5"));
  expect_error(Errc::invalid_input, "a.h5 has no variable \"w\"; it has",
               [&] { (void)input.extents("w"); });
  std::vector<double> room(24 * 40 * 50);
  const auto read = [&](std::vector<std::ptrdiff_t> extents, ItemType type) {
    const auto layout = slabs(extents, 0, comm.num_ranks());
    input.read("u", type, layout, Memory::dense(layout.boxes(comm.rank())), room.data());
  };
  expect_error(Errc::invalid_input, "variable u has extents 24 x 40 x 50, the layout 50 x 40 x 24",
               [&] {
                 read({50, 40, 24}, ItemType::float64);
               });
  expect_error(Errc::invalid_input, "variable u has extents 24 x 40 x 50, the layout 24 x 40 of",
               [&] {
                 read({24, 40}, ItemType::float64);
               });
  expect_error(Errc::invalid_input, "variable u holds float64 and cannot be read as int32", [&] {
    read({24, 40, 50}, ItemType::int32);
  });
  if (comm.num_ranks() > 1) {
    const bool other = comm.rank() == 1;
    expect_error(Errc::invalid_input, "a.h5 has no variable \"w\"",
                 [&] { input.read_all(other ? "w" : "u", ItemType::float64, room.data()); });
    expect_error(Errc::invalid_input, "the ranks read different variables, or as different types",
                 [&] {
                   read({24, 40, 50}, other ? ItemType::float32 : ItemType::float64);
                 });
  }
  // Cut after it was opened: only the reader of the end meets it, all ranks hear of it.
  on_rank_0([&] { fs::resize_file(path("a.h5"), 8192); });
  expect_error(Errc::corrupt, "(dataset u)", [&] { read({24, 40, 50}, ItemType::float64); });
}

TEST_F(IntegrityTest, DamagedTablesAreRefused) {
  on_rank_0([&] { write_box_file(path("a.h5")); });
  const auto change = [&](std::size_t row, std::size_t column, std::uint64_t value) {
    on_rank_0([&] {
      fs::copy_file(path("a.h5"), path("b.h5"), fs::copy_options::overwrite_existing);
      const store::Hdf5Handle file(H5Fopen(path("b.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT),
                                   H5Fclose, "open");
      const store::Hdf5Handle table(H5Dopen2(file.id(), "tailrace/boxes", H5P_DEFAULT), H5Dclose,
                                    "table");
      std::vector<std::uint64_t> numbers(36 * 12);
      H5Dread(table.id(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data());
      numbers[row * 12 + column] = value;
      H5Dwrite(table.id(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data());
    });
    const auto* words = column == 11 ? "dataset u, box" : "checksum table is damaged";
    expect_error(Errc::corrupt, words, [&] {
      const Input input(comm, path("b.h5"));
      wrong_items(input, 0);
    });
  };
  change(3, 0, 1);                       // no such variable
  change(3, 1, 2);                       // another place
  change(3, 1, std::uint64_t{1} << 63);  // far out
  change(3, 6, 3);                       // too large
  change(3, 8, 0);                       // empty
  change(3, 10, 2);                      // along an axis that u has not
  change(3, 11, 12345);                  // another checksum
}

}  // namespace
}  // namespace tailrace
