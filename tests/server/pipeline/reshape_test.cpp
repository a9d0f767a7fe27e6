// SPDX-License-Identifier: BSD-3-Clause
// Stages that make other arrays of arrays, on 1 to 4 servers, against a plain reference.
#include <cmath>
#include <complex>
#include <map>

#include "pipeline_fixture.hpp"
#include "store/item_convert.hpp"

namespace tailrace::server {
namespace {

const Values wave = [](const Index& at) {
  return static_cast<double>(at[0] * 1000 + at[1] * 37 + at[2] * 5 % 11);
};

class ReshapeTest : public PipelineTest {
 protected:
  const std::vector<std::ptrdiff_t> extents_{7, 9, 6};

  Step make_step(ItemType type, const Values& values = wave) {
    Step step = one_field(0, type, values);
    step.fields = {make_field(step, "u", type, extents_,
                              uneven_boxes(extents_, group_.size())[own()], values)};
    for (std::size_t d = 0; d < 3; ++d) {
      Coordinate coordinate{step.fields[0].dims[d], {}, {}};
      for (std::ptrdiff_t i = 0; i < extents_[d]; ++i) {
        coordinate.values.push_back(0.5 * static_cast<double>(i));
      }
      step.coordinates.push_back(coordinate);
    }
    return step;
  }

  static Pipeline pipeline_of(const std::string& stage) {
    Product product;
    product.name = "p";
    product.stages = {stage};
    product.path = "{path}_{name}.zarr";
    return Pipeline({product});
  }

  Step result_of(const std::string& stage, const Step& step) {
    auto pipeline = pipeline_of(stage);
    auto results = run(pipeline, step);
    EXPECT_EQ(results.size(), 1U) << stage;
    return results.empty() ? Step{} : results[0].step;
  }

  std::string refusal(const std::string& stage) {
    return message_of([&] { pipeline_of(stage); });
  }

  /// The parts of all servers must cover the field once; item by item what `right` says.
  void expect_field(const Field& field, const std::vector<std::ptrdiff_t>& extents,
                    const std::function<double(const Index&)>& right, double tolerance = 0) {
    ASSERT_EQ(field.num_dims(), static_cast<int>(extents.size()));
    for (std::size_t d = 0; d < extents.size(); ++d) EXPECT_EQ(field.extents[d], extents[d]);
    double items = 0, largest = 0;
    for_each_value(field, [&](const Index& at, double value) {
      items += 1;
      largest = std::max(largest, std::abs(value - right(at)));
    });
    EXPECT_LE(largest, tolerance) << "server " << rank();
    group_.sum({&items, 1});
    std::ptrdiff_t all = 1;
    for (const auto extent : extents) all *= extent;
    EXPECT_EQ(items, static_cast<double>(all));
  }
};

TEST_F(ReshapeTest, ConvertAnyToAnyAndRefuseWhatDoesNotFit) {
  for (const auto from : real_types) {
    const Values small = [](const Index& at) {
      return static_cast<double>((at[0] + at[1] + at[2]) % 100);
    };
    const auto step = make_step(from, small);
    for (const auto to : real_types) {
      const auto result = result_of("convert type=" + std::string(type_name(to)), step);
      EXPECT_EQ(result.fields[0].type, to);
      expect_field(result.fields[0], extents_, small);
    }
    const auto complex = result_of("convert type=complex64", step);
    for (const auto& part : complex.fields[0].parts) {
      const auto* items = reinterpret_cast<const std::complex<float>*>(part.data);
      EXPECT_EQ(items[0].real(), static_cast<float>(small(part.box.start)));
      EXPECT_EQ(items[0].imag(), 0);
    }
  }
  auto pipeline = pipeline_of("convert type=int8");
  const auto text = failure_of(pipeline, make_step(ItemType::float64));
  expect_holds(text, {"convert type=int8", "u holds", "(float64), which does not fit int8"});
  expect_holds(refusal("convert type=double"), {"double", "float64"});
  expect_holds(refusal("convert"), {"type"});
}

double mean_of_block(const Values& values, const Index& block, const Index& factors,
                     const std::vector<std::ptrdiff_t>& extents) {
  double sum = 0, count = 0;
  Box box = box_of({0, 0, 0}, extents);
  for (std::size_t d = 0; d < 3; ++d) {
    box.start[d] = block[d] * factors[d];
    box.extents[d] = std::min(factors[d], extents[d] - box.start[d]);
  }
  for_each_item(box, [&](const Index& at) {
    sum += values(at);
    count += 1;
  });
  return sum / count;
}

TEST_F(ReshapeTest, CoarsenBlocksThatServersShare) {
  for (const auto type : {ItemType::float64, ItemType::float32, ItemType::int16}) {
    const auto step = make_step(type);
    for (const std::ptrdiff_t factor : {1, 2, 3, 4, 100}) {
      const auto result = result_of("coarsen factor=" + std::to_string(factor), step);
      std::vector<std::ptrdiff_t> coarse;
      for (const auto extent : extents_) coarse.push_back((extent + factor - 1) / factor);
      const Index factors{factor, factor, factor};
      expect_field(
          result.fields[0], coarse,
          [&](const Index& at) { return mean_of_block(wave, at, factors, extents_); },
          type == ItemType::float32 ? 1e-3 : 1e-9);
      if (type == ItemType::int16 && factor > 1) {
        EXPECT_EQ(result.fields[0].type, ItemType::float64);
      }
      EXPECT_EQ(std::ssize(result.coordinates[1].values), coarse[1]);
      EXPECT_EQ(result.coordinates[1].values[0],
                0.25 * static_cast<double>(std::min(factor, extents_[1]) - 1));
    }
    const auto flat = result_of("coarsen factor=3 axes=x,z", step);
    expect_field(
        flat.fields[0], {3, 9, 2},
        [&](const Index& at) {
          return mean_of_block(wave, at, {3, 1, 3}, extents_);
        },
        1e-3);
    EXPECT_EQ(flat.coordinates[1].values.size(), 9U);
    const auto thin = result_of("coarsen factor=4 method=every", step);
    expect_field(thin.fields[0], {2, 3, 2}, [&](const Index& at) {
      return wave({at[0] * 4, at[1] * 4, at[2] * 4});
    });
    EXPECT_EQ(thin.coordinates[0].values, (std::vector<double>{0, 2}));
  }
  auto pipeline = pipeline_of("coarsen axes=w");
  expect_holds(failure_of(pipeline, make_step(ItemType::float64)), {"no variable has the axis w"});
  expect_holds(refusal("coarsen factor=0"), {"factor", "0"});
  expect_holds(refusal("coarsen method=median"), {"method", "median", "mean"});
}

TEST_F(ReshapeTest, CoarsenComplexNumbersAndTriangles) {
  Step step = make_step(ItemType::float64);
  step = result_of("convert type=complex128", step);
  for (auto& part : step.fields[0].parts) {
    auto* items = reinterpret_cast<std::complex<double>*>(const_cast<std::byte*>(part.data));
    for (std::ptrdiff_t i = 0; i < part.box.num_items(); ++i) items[i].imag(2 * items[i].real());
  }
  const auto result = result_of("coarsen factor=2", step);
  for (const auto& part : result.fields[0].parts) {
    const auto* items = reinterpret_cast<const std::complex<double>*>(part.data);
    for_each_item(part.box, [&](const Index& at) {
      const double right = mean_of_block(wave, at, {2, 2, 2}, extents_);
      EXPECT_NEAR(items->real(), right, 1e-9);
      EXPECT_NEAR(items->imag(), 2 * right, 1e-9);
      ++items;
    });
  }
  // Blocks of 5 over the upper triangle of blocks of 4: the mean of what there is.
  Step upper = make_step(ItemType::float64);
  const auto boxes = triangle_boxes(12, 3, group_.size());
  const Values values = [](const Index& at) { return static_cast<double>(at[0] * 12 + at[1]); };
  upper.fields = {make_field(upper, "w", ItemType::float64, {12, 12}, boxes[own()], values)};
  std::map<std::pair<std::ptrdiff_t, std::ptrdiff_t>, std::pair<double, double>> sums;
  for (const auto& server : boxes) {
    for (const auto& box : server) {
      for_each_item(box, [&](const Index& at) {
        auto& [sum, count] = sums[{at[0] / 5, at[1] / 5}];
        sum += values(at);
        count += 1;
      });
    }
  }
  expect_field(
      result_of("coarsen factor=5", upper).fields[0], {3, 3},
      [&](const Index& at) {
        const auto found = sums.find({at[0], at[1]});
        return found == sums.end() ? 0 : found->second.first / found->second.second;
      },
      1e-9);
}

TEST_F(ReshapeTest, SliceAPlaneAndARange) {
  const auto step = make_step(ItemType::float64);
  const auto plane = result_of("slice axis=y index=4", step);
  expect_field(plane.fields[0], {7, 6}, [](const Index& at) { return wave({at[0], 4, at[1]}); });
  EXPECT_EQ(plane.fields[0].dims, (std::vector<std::string>{"z", "x"}));
  EXPECT_EQ(plane.coordinates.size(), 2U);
  ASSERT_EQ(plane.fields[0].attributes.size(), 1U);
  EXPECT_EQ(std::get<double>(plane.fields[0].attributes[0].second), 2.0);
  const auto last = result_of("slice axis=x index=-1", step);
  expect_field(last.fields[0], {7, 9}, [](const Index& at) { return wave({at[0], at[1], 5}); });
  const auto some = result_of("slice axis=z start=1 stop=-1 step=2", step);
  expect_field(some.fields[0], {3, 9, 6}, [](const Index& at) {
    return wave({1 + 2 * at[0], at[1], at[2]});
  });
  EXPECT_EQ(some.coordinates[0].values, (std::vector<double>{0.5, 1.5, 2.5}));
  EXPECT_EQ(some.coordinates[1].values.size(), 9U);
  auto beyond = pipeline_of("slice axis=x index=6");
  expect_holds(failure_of(beyond, step), {"index = 6 must be -6 to 5", "axis x"});
  auto unknown = pipeline_of("slice axis=t index=0");
  expect_holds(failure_of(unknown, step), {"no variable has the axis t", "u(z, y, x)"});
  auto nothing = pipeline_of("slice axis=x start=4 stop=2");
  expect_holds(failure_of(nothing, step), {"leave nothing of axis x"});
  expect_holds(refusal("slice axis=x index=1 step=2"), {"not both"});
  expect_holds(refusal("slice index=1"), {"axis"});
}

TEST_F(ReshapeTest, TransposeGivesEachServerAContiguousShare) {
  for (const auto type : {ItemType::float64, ItemType::uint8}) {
    const Values values = [](const Index& at) {
      return static_cast<double>((at[0] * 54 + at[1] * 6 + at[2]) % 251);
    };
    const auto step = make_step(type, values);
    const auto result = result_of("transpose order=x,z,y", step);
    expect_field(result.fields[0], {6, 7, 9}, [&](const Index& at) {
      return values({at[1], at[2], at[0]});
    });
    EXPECT_EQ(result.fields[0].dims, (std::vector<std::string>{"x", "z", "y"}));
    const auto share = split_evenly(6, group_.size(), rank());
    ASSERT_EQ(result.fields[0].parts.size(), share.count > 0 ? 1U : 0U);
    if (share.count > 0) {
      EXPECT_EQ(result.fields[0].parts[0].box, box_of({share.start, 0, 0}, {share.count, 7, 9}));
    }
    const auto back = result_of("transpose order=z,y,x", result);
    expect_field(back.fields[0], extents_, values);
  }
  auto wrong = pipeline_of("transpose order=x,y");
  expect_holds(failure_of(wrong, make_step(ItemType::float64)),
               {"must name the axes of u (z, y, x)"});
  expect_holds(refusal("transpose order=x,x,y"), {"each axis once"});
}

TEST_F(ReshapeTest, CompressSaysHowTheFileIsEncoded) {
  const auto result = result_of("compress codec=none chunk_bytes=4096", make_step(ItemType::int8));
  const std::vector<std::pair<std::string, std::string>> right{{"codec", "none"},
                                                               {"chunk_bytes", "4096"}};
  EXPECT_EQ(result.encoding, right);
  expect_holds(refusal("compress codec=zip"), {"zip", "bz2"});
  expect_holds(refusal("compress codec=bz2 level=12"), {"level", "12", "9"});
  expect_holds(refusal("compress tolerance=-1"), {"tolerance"});
  expect_holds(refusal("compress speed=3"), {"speed"});
  expect_holds(refusal("compress chunk_bytes=3"), {"chunk_bytes = 3", "64 bytes"});
}

}  // namespace
}  // namespace tailrace::server
