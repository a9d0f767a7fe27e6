// SPDX-License-Identifier: BSD-3-Clause
// What a time loop may rely on: no payload memory after the first file, and whole stripes.
#include <cmath>

#include "counted_new.hpp"
#include "store/contents_check.hpp"
#include "store/file_image.hpp"
#include "store_fixture.hpp"

namespace tailrace {
namespace {

using namespace store_test;

class SteadyStateTest : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    const std::vector<std::ptrdiff_t> extents{65, 66, 67};
    layout_ = std::make_unique<Layout>(pencils(extents, 2, grid_of(comm.num_ranks())));
    memory_ = Memory::dense(layout_->boxes(comm.rank()));
    data_ = filled<double>(*layout_, memory_, comm.rank(), 0);
    contents_.variables = {
        {"u", ItemType::float64, {"z", "y", "x"}, layout_.get(), memory_, data_.data(), {}},
        {"v", ItemType::float64, {"z", "y", "x"}, layout_.get(), memory_, data_.data(), {}}};
  }
  std::unique_ptr<Layout> layout_;
  Memory memory_;
  std::vector<double> data_;
  FileContents contents_;
};

TEST_F(SteadyStateTest, NothingOfTheSizeOfTheDataIsAllocatedAfterTheFirstFiles) {
  const auto check = [&](const OutputOptions& options) {
    SCOPED_TRACE(options.strategy + (options.servers == "hidden" ? ", hidden" : ", synchronous"));
    Output output(comm, options);
    const auto file = path("a.h5");
    for (int i = 0; i < 4; ++i) output.write(file, contents_);
    output.finish();
    counted_new::reset();
    constexpr int files = 8;
    for (int i = 0; i < files; ++i) output.write(file, contents_);
    output.finish();
    // Names, boxes and the like; the data of a file is 4.6 MB.
    EXPECT_LT(counted_new::largest, 1024) << "one allocation";
    EXPECT_LT(counted_new::bytes, files * 16384) << "in all";
  };
  OutputOptions options;
  for (const std::string servers : {"none", "hidden"}) {
    options.servers = servers;
    check(options);
  }
  options.hints = {{"cb_align", "2"}, {"group_size", "2"}};
  for (const auto* strategy : {"collective", "shared_independent", "grouped", "file_per_rank"}) {
    options.strategy = strategy;
    check(options);
  }
}

// Variables that leave dims and memory open are filled in; the rest is as large as a user makes it.
TEST_F(SteadyStateTest, CoordinatesAndAttributesOfTheSameSizesTakeNoNewMemory) {
  constexpr std::ptrdiff_t many = 100'000;  // of 8 bytes
  const std::vector<double> values(many, 0.5);
  const std::vector<std::int64_t> whole(many, 7);
  contents_.variables = {{"u", *layout_, std::span(data_)}, {"v", *layout_, std::span(data_)}};
  contents_.coordinates = {{"row", values, {{"list", values}}}, {"whole", {}, {}, whole}};
  contents_.attributes = {{"text", std::string(many, 'a')}, {"list", whole}, {"nan", NAN}};
  contents_.group_attributes = {{"group", {{"list", values}}}};
  contents_.variables[0].attributes = {{"list", std::vector<float>(many, 1)}};
  store::WithDefaults with_defaults;
  const auto of = [&]() -> const FileContents& {
    return with_defaults.of(contents_, comm.rank(), comm.num_ranks());
  };
  EXPECT_EQ(of().variables[0].dims, (std::vector<std::string>{"z", "y", "x"}));
  counted_new::reset();
  const auto& contents = of();
  EXPECT_LT(counted_new::bytes, 16384) << "of 4.8 MB";
  store::digest_of("a.h5", contents);
  EXPECT_LT(counted_new::bytes, 16384 + 2 * many) << "of numbers";
  // Each of them is taken over when it changes, to the last bit.
  const auto check = [&](auto&& change, auto&& seen) {
    change();
    counted_new::reset();
    const auto& made = of();
    EXPECT_LT(counted_new::bytes, many * 8 + 16384);
    EXPECT_TRUE(seen(made));
    EXPECT_EQ(store::digest_of("a.h5", made), [&] {
      store::WithDefaults fresh;
      return store::digest_of("a.h5", fresh.of(contents_, comm.rank(), comm.num_ranks()));
    }());
  };
  check([&] { contents_.coordinates[0].values[3] = -0.5; },
        [](const auto& c) { return c.coordinates[0].values[3] == -0.5; });
  check([&] { std::get<std::vector<std::int64_t>>(*contents_.coordinates[1].typed)[many - 1] = 8; },
        [](const auto& c) {
          return std::get<std::vector<std::int64_t>>(*c.coordinates[1].typed)[many - 1] == 8;
        });
  check([&] { contents_.attributes[2].second = 0.0; },
        [](const auto& c) { return !std::signbit(std::get<double>(c.attributes[2].second)); });
  check([&] { contents_.attributes[2].second = -0.0; },
        [](const auto& c) { return std::signbit(std::get<double>(c.attributes[2].second)); });
  check([&] { contents_.attributes.pop_back(); },
        [](const auto& c) { return c.attributes.size() == 2; });
  check([&] { contents_.group_attributes[0].first = "other"; },
        [](const auto& c) { return c.group_attributes[0].first == "other"; });
  check([&] { contents_.variables[0].attributes[0].second = std::string("short"); },
        [](const auto& c) {
          return std::get<std::string>(c.variables[0].attributes[0].second) == "short";
        });
  check([&] { contents_.variables.pop_back(); },
        [](const auto& c) { return c.variables.size() == 1; });
  check([&] { contents_.coordinates.clear(); },
        [](const auto& c) { return c.coordinates.empty(); });
}

TEST_F(SteadyStateTest, WritersShareNoStripe) {
  constexpr std::ptrdiff_t stripe = 65536;
  store::FileImage image;
  store::build_image(contents_, {.alignment = stripe, .stripe_bytes = stripe, .table_rows = 10},
                     image);
  std::vector<int> writers(static_cast<std::size_t>(comm.num_ranks()));
  for (int rank = 0; rank < comm.num_ranks(); ++rank)
    writers[static_cast<std::size_t>(rank)] = rank;
  for (const auto offset : image.data_offsets) {
    EXPECT_EQ(offset % stripe, 0);
    const auto extents = std::span(layout_->global_extents()).first(3);
    const auto domains = file_domains(extents, 8, writers, comm.num_ranks(), stripe, 0);
    std::ptrdiff_t end = offset;
    for (const int writer : writers) {
      EXPECT_EQ(end % stripe, 0) << "writer " << writer << " starts inside a stripe";
      end += domains.num_items(writer) * 8;
    }
    EXPECT_EQ(end, offset + 65 * 66 * 67 * 8);
  }
  for (const auto& extent : image.extents) {
    for (const auto offset : image.data_offsets) {
      EXPECT_TRUE(extent.file_offset + extent.count <= offset ||
                  extent.file_offset >= offset + 65 * 66 * 67 * 8)
          << "metadata lies in the data";
    }
  }
}

}  // namespace
}  // namespace tailrace
