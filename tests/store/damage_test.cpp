// SPDX-License-Identifier: BSD-3-Clause
// Files damaged at random: bits flipped, blocks zeroed or overwritten, ends cut off, in headers and
// in data, of every kind of file that `Output` writes. Whatever can be read is right, and nothing
// that has changed passes `verify_file`.
#include <hdf5.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "output_case.hpp"
#include "random_problems.hpp"
#include "store/hdf5_handle.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"
#include "tailrace/more/verify.hpp"

namespace tailrace {
namespace {

using namespace store_test;

struct Kind {
  std::string name;
  OutputOptions options;
};

std::vector<Kind> kinds() {
  std::vector<Kind> all{{"collective.h5", {}}, {"grouped.nc", {}}, {"pieces.h5", {}}};
  all[0].options.stripe_bytes = 4096;
  all[1].options.strategy = "shared_independent";
  all[2].options.strategy = "file_per_rank";
  for (auto& kind : all) kind.options.servers = "none";
  return all;
}

class DamageTest : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    const OutputCase test(comm, {9, 8, 31}, 2);
    for (const auto& kind : kinds())
      Output(comm, kind.options).write(path(kind.name), test.contents);
    OutputOptions bare;
    bare.servers = "none";
    bare.checksums = false;
    Output(comm, bare).write(path("bare.h5"), test.contents);
    MPI_Barrier(comm.raw());
  }

  // What differs from the file that was written, though no error was thrown; "" if nothing.
  std::string read_wrong(const std::string& file) {
    try {
      const Input input(comm, file);
      auto names = input.names();
      std::ranges::sort(names);
      if (names != std::vector<std::string>{"modes", "u", "v"}) return "names are wrong";
      if (input.attribute_double("time") != 0.25 || input.attribute_int("step") != 7 ||
          input.attribute_string("run") != "abc") {
        return "attributes are wrong";
      }
      const auto x = input.coordinate("x");
      for (std::size_t i = 0; i < 31; ++i) {
        if (x.size() != 31 || x[i] != 0.5 + static_cast<double>(i)) return "coordinates are wrong";
      }
      const auto wrong = OutputCase::wrong_items(comm, file, 0);
      return wrong == 0 ? "" : fmt::format("{} items are wrong", wrong);
    } catch (const Error&) {
      return "";  // found
    }
  }

  bool verified(const std::string& file) {
    const auto found = verify_file(comm, file);
    int sources = static_cast<int>(found.sources.size()), damaged = found.damaged() ? 1 : 0;
    MPI_Bcast(&sources, 1, MPI_INT, 0, comm.raw());
    for (int n = 0; n < sources; ++n) {
      std::string name = comm.rank() == 0 ? found.sources[static_cast<std::size_t>(n)] : "";
      name.resize(1000);
      MPI_Bcast(name.data(), 1000, MPI_CHAR, 0, comm.raw());
      if (verify_file(comm, name.c_str(), false).damaged()) damaged = 1;
    }
    return damaged == 0;
  }

  fs::path work() const { return folder / "work"; }

  // On rank 0: copies the files and damages one of them; says what it did.
  std::string damage(Dice& dice, const std::string& name) {
    fs::remove_all(work());
    fs::create_directories(work());
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const auto found = entry.path().filename().string();
      if (found != name && found != name + ".pieces") continue;
      fs::copy(entry.path(), work() / found, fs::copy_options::recursive);
    }
    for (const auto& entry : fs::recursive_directory_iterator(work())) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::ranges::sort(files);
    const auto& file =
        files[static_cast<std::size_t>(dice.chance(50) ? 0 : dice.below(std::ssize(files)))];
    auto bytes = slurp(file);
    const auto before = bytes;
    std::string what;
    while (bytes == before) what = change(dice, bytes);
    std::ofstream(file, std::ios::binary).write(bytes.data(), std::ssize(bytes));
    return fmt::format("{}: {}", file.filename().string(), what);
  }

  // What a program's end does.
  static bool closed() {
    const store::QuietHdf5 quiet;
    return H5close() >= 0;
  }

  // Whether `what` says that a bit has flipped within a compressed chunk. There, before stored
  // blocks and at the end, are bits that mean nothing (RFC 1951, 3.2.4): all items are as before,
  // as `read_wrong` has seen. Collective.
  bool spares_all_items(const std::string& name, const std::string& what) const {
    int spares = 0;
    long at = 0;
    const auto place = what.find("a bit of byte ");
    if (comm.rank() == 0 && place != std::string::npos &&
        std::sscanf(what.c_str() + place, "a bit of byte %ld", &at) == 1) {
      const store::QuietHdf5 quiet;
      const auto opened = store::open_hdf5_file(path(name));
      for (const char* array : {"u", "v", "modes"}) {
        const store::Hdf5Handle dataset(H5Dopen2(opened.id(), array, H5P_DEFAULT), H5Dclose, array);
        const store::Hdf5Handle create(H5Dget_create_plist(dataset.id()), H5Pclose, array);
        hsize_t count = 0;
        if (H5Pget_layout(create.id()) != H5D_CHUNKED) continue;
        const store::Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose, array);
        H5Dget_num_chunks(dataset.id(), space.id(), &count);
        for (hsize_t n = 0; n < count; ++n) {
          haddr_t start = 0;
          hsize_t bytes = 0;
          H5Dget_chunk_info(dataset.id(), space.id(), n, nullptr, nullptr, &start, &bytes);
          const auto flipped = static_cast<haddr_t>(at);
          if (flipped >= start && flipped < start + bytes) spares = 1;
        }
      }
    }
    MPI_Bcast(&spares, 1, MPI_INT, 0, comm.raw());
    return spares == 1;
  }

  static std::size_t end_of_hdf5(const std::string& bytes) {
    std::uint64_t end = 0;
    std::memcpy(&end, &bytes[28], sizeof(end));  // in a superblock of version 2
    return end;
  }

  // Damages a file of one of `all` as `seed` says; what was not as it should be, or "".
  std::string problem(std::uint64_t seed, const std::vector<Kind>& all = kinds()) {
    Dice dice(seed);
    const auto& kind = dice.one_of(all);
    std::string what;
    if (comm.rank() == 0) what = damage(dice, kind.name);
    MPI_Barrier(comm.raw());
    const auto file = (work() / kind.name).string();
    auto wrong = read_wrong(file);
    if (verified(file) && !spares_all_items(kind.name, what)) {
      wrong += " verify_file finds nothing";
    }
    if (!closed()) wrong += " HDF5 cannot be closed";
    return wrong.empty() ? "" : fmt::format("{} ({}; {})", wrong, kind.name, what);
  }

  static std::string change(Dice& dice, std::string& bytes) {
    const auto size = std::ssize(bytes);
    const auto kind = dice.below(10);
    const auto at = dice.below(dice.chance(60) ? std::min<std::ptrdiff_t>(size, 9000) : size);
    if (kind < 6) {
      auto& byte = bytes[static_cast<std::size_t>(at)];
      byte = static_cast<char>(byte ^ (1 << dice.below(8)));
      return fmt::format("a bit of byte {} flipped", at);
    }
    if (kind < 7) {
      bytes.resize(static_cast<std::size_t>(dice.below(size)));
      return fmt::format("cut to {} bytes", bytes.size());
    }
    const auto count = std::min(size - at, dice.between(1, 3000));
    for (auto n = at; n < at + count; ++n) {
      bytes[static_cast<std::size_t>(n)] = kind == 9 ? static_cast<char>(dice.bits()) : '\0';
    }
    return fmt::format("{} bytes from {} on overwritten with {}", count, at,
                       kind == 9 ? "noise" : "zeros");
  }
};

TEST_F(DamageTest, NothingDamagedPassesForWhole) {
  RandomProblems(comm, comm.num_ranks() == 1 ? 400 : 60).run([&](std::uint64_t seed) {
    return problem(seed);
  });
}

TEST_F(DamageTest, NothingDamagedInACompressedFilePassesForWhole) {
  std::vector<Kind> compressed{{"compressed.h5", {}}};
  auto& options = compressed[0].options;
  options.servers = "none";
  options.compress = "deflate:1 chunk_bytes=4K";
  const OutputCase test(comm, {9, 8, 31}, 2);
  Output(comm, options).write(path("compressed.h5"), test.contents);
  MPI_Barrier(comm.raw());
  RandomProblems(comm, comm.num_ranks() == 1 ? 200 : 30).run([&](std::uint64_t seed) {
    return problem(seed, compressed);
  });
}

// What failed before: the last headers and the seal in one.
TEST_F(DamageTest, DamageOfOldFailuresIsFound) {
  for (const std::uint64_t seed : {318736987}) EXPECT_EQ(problem(seed), "") << seed;
}

// What HDF5 or a tool leaves of a file when the seal is gone is no damage; the rest of one is.
TEST_F(DamageTest, AFileThatLostItsSealIsToldFromOneThatNeverHadOne) {
  const auto opens = [&](std::string bytes) {
    const auto file = path("lost.h5");
    MPI_Barrier(comm.raw());
    if (comm.rank() == 0) std::ofstream(file, std::ios::binary) << bytes;
    MPI_Barrier(comm.raw());
    try {
      const Input input(comm, file);
      return std::string();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::corrupt) << error.what();
      return std::string(error.what());
    }
  };
  const std::string zeros(500, '\0'), seal = "the seal of its headers has changed";
  const auto with_sums = slurp(path("collective.h5")), without = slurp(path("bare.h5"));
  for (const auto& whole : {with_sums, without}) {
    EXPECT_EQ(opens(whole), "");
    const auto hdf5 = whole.substr(0, end_of_hdf5(whole));
    EXPECT_EQ(opens(hdf5), "");  // as changed by HDF5, or from before there were seals
    const auto lost = whole.substr(0, whole.size() - 1);
    EXPECT_NE(opens(lost).find(seal), std::string::npos);
    EXPECT_NE(opens(hdf5 + "x" + zeros).find(seal), std::string::npos);
    EXPECT_EQ(opens(hdf5 + zeros).find(seal) != std::string::npos, whole == with_sums);
  }
}

// Without a seal HDF5 meets the damage.
TEST_F(DamageTest, OfADamagedFileWithoutSealHdf5CanBeClosed) {
  RandomProblems(comm, comm.num_ranks() == 1 ? 200 : 30).run([&](std::uint64_t seed) {
    Dice dice(seed);
    if (comm.rank() == 0) {
      auto bytes = slurp(path("grouped.nc"));
      bytes.resize(end_of_hdf5(bytes));
      change(dice, bytes);
      fs::create_directories(work());
      std::ofstream(work() / "bare.nc", std::ios::binary) << bytes;
    }
    MPI_Barrier(comm.raw());
    try {
      const Input input(comm, (work() / "bare.nc").string());
    } catch (const Error&) {
    }
    verified((work() / "bare.nc").string());
    return closed() ? "" : "HDF5 cannot be closed";
  });
}

// The files themselves pass, so that what is found above is the damage.
TEST_F(DamageTest, WholeFilesPass) {
  for (const auto& kind : kinds()) {
    const auto file = path(kind.name);
    EXPECT_TRUE(verified(file)) << kind.name;
    EXPECT_EQ(OutputCase::wrong_items(comm, file, 0), 0) << kind.name;
    EXPECT_EQ(read_wrong(file), "") << kind.name;
    EXPECT_NO_THROW(Input(comm, file)) << kind.name;
  }
}

}  // namespace
}  // namespace tailrace
