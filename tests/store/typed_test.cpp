// SPDX-License-Identifier: BSD-3-Clause
// Typed calls: type and memory follow from an array, and arrays of wrong sizes are refused.
#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "store_fixture.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"
#include "tailrace/session.hpp"

namespace tailrace {
namespace {

using namespace store_test;

static_assert(item_type<float>() == ItemType::float32);
static_assert(item_type<const double>() == ItemType::float64);
static_assert(item_type<signed char>() == ItemType::int8);
static_assert(item_type<unsigned char>() == ItemType::uint8);
static_assert(item_type<long>() == ItemType::int64);
static_assert(item_type<long long>() == ItemType::int64);
static_assert(item_type<unsigned>() == ItemType::uint32);
static_assert(item_type<std::complex<float>>() == ItemType::complex64);
static_assert(item_type<const std::complex<double>>() == ItemType::complex128);
static_assert(!FileItem<bool> && !FileItem<long double> && !FileItem<std::array<double, 2>> &&
              !FileItem<double*>);
// A layout that dies with the statement cannot be referred to.
static_assert(std::is_constructible_v<Variable, const char*, Layout&, std::span<double>> &&
              !std::is_constructible_v<Variable, const char*, Layout, std::span<double>>);

class TypedTest : public FolderTest {
 protected:
  const std::vector<std::ptrdiff_t> extents{6, 7, 8};
  const Layout layout = pencils(extents, 2, grid_of(comm.num_ranks()));
  const Memory memory = Memory::dense(layout.boxes(comm.rank()));

  /// The text of the error that all ranks must get alike from `call`; "" if there was none.
  template <class Call>
  std::string error_of(Call&& call) {
    std::string text;
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input) << error.what();
      text = error.what();
    }
    std::string first = text;
    first.resize(1024);
    MPI_Bcast(first.data(), 1024, MPI_CHAR, 0, comm.raw());
    EXPECT_EQ(first.c_str(), text);
    return text;
  }
};

TEST_F(TypedTest, AFieldOfThreeLinesIsTheFileOfTheLongForm) {
  const auto u = filled<double>(layout, memory, comm.rank(), 3);
  {
    Output output(comm, {});
    output.write(path("typed.h5"), {.variables = {{"u", layout, std::span(u)}}});
    output.finish();
  }
  Output output(comm, {});
  output.write(
      path("long.h5"),
      {.variables = {{"u", ItemType::float64, {"z", "y", "x"}, &layout, memory, u.data(), {}}}});
  output.finish();
  EXPECT_TRUE(slurp(path("typed.h5")) == slurp(path("long.h5")));
  std::vector<double> found(u.size());
  Input(comm, path("typed.h5")).read("u", layout, std::span(found));
  EXPECT_EQ(num_wrong(found, layout, memory, comm.rank(), 3), 0);
}

TEST_F(TypedTest, SeveralFieldsOfOtherTypesAndDimensionsComeBack) {
  const std::vector<std::ptrdiff_t> line{29};
  const std::vector<std::ptrdiff_t> five{2, 3, 6, 7, 8};
  const auto points = slabs(line, 0, comm.num_ranks());
  const auto tensors = slabs(five, 4, comm.num_ranks());
  const auto point_memory = Memory::dense(points.boxes(comm.rank()));
  const auto tensor_memory = Memory::dense(tensors.boxes(comm.rank()));
  const auto number = filled<std::int32_t>(points, point_memory, comm.rank(), 1);
  const auto t = filled<float>(tensors, tensor_memory, comm.rank(), 2);
  const auto c = filled<std::complex<double>>(layout, memory, comm.rank(), 4);
  Output output(comm, {});
  output.write(path("a.h5"), {.variables = {{"number", points, std::span(number), {"particle"}},
                                            {"t", tensors, std::span(t)},
                                            {"c", layout, std::span(c)}}});
  output.finish();
  const Input input(comm, path("a.h5"));
  EXPECT_EQ(input.type("number"), ItemType::int32);
  EXPECT_EQ(input.type("t"), ItemType::float32);
  EXPECT_EQ(input.type("c"), ItemType::complex128);
  std::vector<std::int32_t> numbers(number.size());
  std::vector<float> ts(t.size());
  std::vector<std::complex<double>> cs(c.size());
  input.read("number", points, std::span(numbers));
  input.read("t", tensors, std::span(ts));
  input.read("c", layout, std::span(cs));
  EXPECT_EQ(numbers, number);
  EXPECT_EQ(ts, t);
  EXPECT_EQ(cs, c);
}

TEST_F(TypedTest, AnArrayOfAWrongSizeOnOneRankIsOneErrorOnAll) {
  const int last = comm.num_ranks() - 1;
  const std::size_t held = static_cast<std::size_t>(layout.num_items(comm.rank()));
  std::vector<double> u(held + (comm.rank() == last ? 1 : 0), 1.0);
  const auto expected = "an array of " + std::to_string(layout.num_items(last) + 1) +
                        " items is given, rank " + std::to_string(last) + " holds " +
                        std::to_string(layout.num_items(last));
  const FileContents wrong{.variables = {{"u", layout, std::span(u)}}};
  Output output(comm, {});
  const auto of_output = error_of([&] { output.write(path("a.h5"), wrong); });
  EXPECT_NE(of_output.find(expected), std::string::npos) << of_output;

  for (const auto* servers : {"none", "thread"}) {
    Session session(comm.raw(), {.servers = servers});
    auto stream = session.open("fields");
    const auto of_stream = error_of([&] { stream.write(path("a.h5"), wrong); });
    EXPECT_NE(of_stream.find(expected), std::string::npos) << of_stream;
    const FileContents right{.variables = {{"u", layout, std::span(u).first(held)}}};
    stream.write(path("b.h5"), right);  // the call may be made again
    stream.finish();
    session.close();
  }
  const Input input(comm, path("b.h5"));
  const auto of_input = error_of([&] { input.read("u", layout, std::span(u)); });
  EXPECT_NE(of_input.find(expected), std::string::npos) << of_input;
}

TEST_F(TypedTest, AnEmptyArrayWhereItemsAreHeldIsRefused) {
  const std::span<const double> nothing;
  Output output(comm, {});
  const auto text = error_of([&] {
    output.write(path("a.h5"), {.variables = {{"u", layout, nothing}}});
  });
  EXPECT_NE(text.find("an array of 0 items is given"), std::string::npos) << text;
}

}  // namespace
}  // namespace tailrace
