// SPDX-License-Identifier: BSD-3-Clause
// Files of arrays in device memory are, byte for byte, those of arrays on the host; errors of the
// device are the same error on all ranks, and the call may be repeated.
#include <fstream>
#include <iterator>
#include <latch>
#include <sstream>

#include "fake_cuda.h"
#include "server/kinds_here.hpp"
#include "tailrace/input.hpp"
#include "tailrace/session.hpp"
#include "temp_folder.hpp"

namespace tailrace {
namespace {

class DeviceOutput : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < field_.size(); ++i) {
      field_[i] = static_cast<double>(i) + 0.25 * comm_.rank();
    }
    array_ = fake_cuda_alloc(field_.size() * sizeof(double));
    stream_ = fake_cuda_stream();
  }
  void TearDown() override {
    fake_cuda_fail("", 0, 0);
    fake_cuda_free(array_);
    EXPECT_EQ(fake_cuda_count().wrong, 0) << fake_cuda_first_wrong();
  }

  void launch() {
    fake_cuda_launch_write(array_, field_.data(), field_.size() * sizeof(double), stream_);
  }
  FileContents contents(const void* data) const {
    return {.variables = {{"u",
                           ItemType::float64,
                           {},
                           &layout_,
                           Memory::ordered(box_, {{0, 1, 2}}, {{1, 2, 1}}),
                           data}},
            .stream = reinterpret_cast<std::uintptr_t>(stream_)};
  }
  static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const Comm comm_{MPI_COMM_WORLD};
  const TempFolder folder_{comm_};
  const Box box_{3, {4 * comm_.rank(), 0, 0}, {4, 5, 6}};
  const Layout layout_ =
      own_box(comm_, {4 * comm_.num_ranks(), 5, 6}, {4 * comm_.rank(), 0, 0}, {4, 5, 6});
  std::vector<double> field_ = std::vector<double>(6 * 9 * 8);
  void* array_ = nullptr;
  void* stream_ = nullptr;
};

TEST_F(DeviceOutput, FilesAreThoseOfHostArrays) {
  for (const auto& servers : testing::kinds_here(comm_)) {
    for (const std::string compress : {"", "deflate:1"}) {
      const auto stem = folder_ / fmt::format("{}{}", servers, compress.empty() ? "" : "_packed");
      Output output(comm_, {.servers = servers, .memory_bytes = 16 << 20, .compress = compress});
      launch();
      output.write(stem + "_device.h5", contents(array_));
      auto spoilt = field_;
      std::ranges::fill(spoilt, -1.0);  // the array may be changed now
      fake_cuda_launch_write(array_, spoilt.data(), spoilt.size() * sizeof(double), stream_);
      output.write(stem + "_host.h5", contents(field_.data()));
      output.finish();
      if (comm_.rank() != 0) continue;
      const auto right = bytes_of(stem + "_host.h5");
      EXPECT_GT(right.size(), 1000U);
      EXPECT_EQ(bytes_of(stem + "_device.h5"), right) << servers << " " << compress;
    }
  }
}

// The first step stays in the staging memory until the second has been taken.
TEST_F(DeviceOutput, StepsInSinglePrecisionAreThoseOfHostArrays) {
  for (const std::string method : {"auto", "alltoallv"}) {
    std::latch second_is_taken(1);
    StageFunctions functions;
    functions.stages["hold"] = [&](std::int64_t, std::span<StagePart>) { second_is_taken.wait(); };
    const auto path = folder_ / fmt::format("low_{}.h5", method);
    Output output(comm_, {.servers = "hidden",
                          .buffered_files = 1,
                          .method = method,
                          .functions = functions,
                          .when_full = WhenFull::lower,
                          .products = {{.name = "held", .stages = {"call name=hold"}}}});
    launch();
    output.write(folder_ / "first.h5", contents(array_));
    launch();
    EXPECT_EQ(output.write(path, contents(array_)), WriteResult::lowered);
    second_is_taken.count_down();
    output.finish();
    const Input input(comm_, path);
    EXPECT_EQ(input.type("u"), ItemType::float32);
    std::vector<float> back(static_cast<std::size_t>(box_.num_items()));
    input.read("u", ItemType::float32, layout_, {{}, box_.num_items()}, back.data());
    EXPECT_EQ(back.front(), static_cast<float>(field_[1 * 9 * 8 + 2 * 8 + 1]));
    EXPECT_EQ(back.back(), static_cast<float>(field_[4 * 9 * 8 + 6 * 8 + 6]));
  }
}

// One rank's device fails, and all ranks say so. Nothing of the step is written.
TEST_F(DeviceOutput, FailuresAreThoseOfAllRanks) {
  for (const auto& servers : testing::kinds_here(comm_)) {
    for (const std::string method : {"auto", "alltoallv"}) {
      if (method != "auto" && servers != "none" && servers != "hidden") continue;
      const auto path = folder_ / fmt::format("{}_{}.h5", servers, method);
      Output output(comm_, {.servers = servers, .memory_bytes = 16 << 20, .method = method});
      launch();
      const auto failing = comm_.num_ranks() - 1;
      if (comm_.rank() == failing) fake_cuda_fail("cuEventSynchronize", 0, 700);
      try {
        output.write(path, contents(array_));
        ADD_FAILURE() << servers << " " << method;
      } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_EQ(error.code(), Errc::io);
        EXPECT_NE(text.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << text;
        EXPECT_NE(text.find(path), std::string::npos) << text;
      }
      EXPECT_FALSE(std::filesystem::exists(path));
      output.write(path, contents(array_));
      output.finish();
      EXPECT_EQ(output.statistics().complete, 1);
      const Input input(comm_, path);
      std::vector<double> back(static_cast<std::size_t>(box_.num_items()));
      input.read("u", ItemType::float64, layout_, {{}, box_.num_items()}, back.data());
      EXPECT_EQ(back.front(), field_[static_cast<std::size_t>(1 * 9 * 8 + 2 * 8 + 1)]);
    }
  }
}

TEST_F(DeviceOutput, InputFailuresAreThoseOfAllRanks) {
  const auto path = folder_ / "in.h5";
  Output output(comm_, {.servers = "none"});
  output.write(path, contents(field_.data()));
  output.finish();
  const Input input(comm_, path);
  const Memory memory = Memory::ordered(box_, {{0, 1, 2}}, {{1, 2, 1}});
  if (comm_.rank() == 0) fake_cuda_fail("cuMemcpy3DAsync", 0, 2);
  try {
    input.read("u", ItemType::float64, layout_, memory, array_);
    ADD_FAILURE() << "no failure";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos);
  }
  input.read("u", ItemType::float64, layout_, memory, array_);
  std::vector<double> back(field_.size());
  fake_cuda_peek(array_, back.data(), back.size() * sizeof(double));
  EXPECT_EQ(back[1 * 9 * 8 + 2 * 8 + 1], field_[1 * 9 * 8 + 2 * 8 + 1]);
}

}  // namespace
}  // namespace tailrace
