// SPDX-License-Identifier: BSD-3-Clause
// Typed calls: type and memory follow from an array, and arrays of wrong sizes are refused.
#include <algorithm>
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

TEST_F(TypedTest, AnyContiguousRangeIsAnArray) {
  const auto part = slabs({5}, 0, comm.num_ranks());
  const std::array<float, 5> fixed{0, 1, 2, 3, 4};
  const auto box = part.box(comm.rank());
  const auto own = std::span(fixed).subspan(static_cast<std::size_t>(box.start[0]),
                                            static_cast<std::size_t>(box.extents[0]));
  const std::vector<std::int32_t> numbers(own.begin(), own.end());
  Output output(comm);
  output.write(path("ranges.h5"), {.variables = {{"a", part, own}, {"b", part, numbers}}});
  output.finish();
  const Input input(comm, path("ranges.h5"));
  std::vector<float> a(5);
  std::vector<std::int32_t> b(5);
  const auto whole = from_boxes(
      {5},
      std::vector<std::vector<Box>>(static_cast<std::size_t>(comm.num_ranks()), {{1, {0}, {5}}}));
  input.read("a", whole, std::span(a));
  input.read("b", whole, std::span(b));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(a[i], static_cast<float>(i));
    EXPECT_EQ(b[i], static_cast<std::int32_t>(i));
  }
}

/// Dimensions as literals, as strings, and as a vector, with and without a halo.
TEST_F(TypedTest, DimensionsAndHalosAreWrittenInBraces) {
  const auto box = layout.box(comm.rank());
  const auto u = filled<double>(layout, Memory::ordered(box, {0, 1, 2}, {1, 1, 1}), comm.rank(), 3);
  const auto v = filled<double>(layout, memory, comm.rank(), 4);
  const std::string first = "a";
  const std::vector<std::string> dims{"a", "b", "c"};
  const FileContents contents{.variables = {{"u", layout, u, {.halo = 1}},
                                            {"u_3", layout, u, {.halos = {1, 1, 1}}, dims},
                                            {"u_4", layout, u, {.halo = 1}, {"a", "b", "c"}},
                                            {"v", layout, v, {first, "b", "c"}, {{"units", "m"}}},
                                            {"v_2", layout, v, dims},
                                            {"v_3", layout, v, {}, {{"units", "m"}}}}};
  EXPECT_EQ(contents.variables[0].form.halo, 1);
  EXPECT_EQ(contents.variables[1].dims, dims);
  EXPECT_EQ(contents.variables[2].dims, dims);
  EXPECT_EQ(contents.variables[3].dims, dims);
  EXPECT_EQ(contents.variables[4].dims, dims);
  EXPECT_TRUE(contents.variables[5].dims.empty());
  EXPECT_EQ(contents.variables[5].attributes.size(), 1U);
  Output output(comm);
  output.write(path("braces.h5"), contents);
  output.finish();
  const Input input(comm, path("braces.h5"));
  const auto empty = std::vector<double>(u.size(), -1);
  for (const auto* name : {"u", "u_3", "u_4"}) {
    auto found = empty;  // its halo stays as it was
    input.read(name, layout, found, {.halo = 1});
    const auto formed = Memory::ordered(box, {0, 1, 2}, {1, 1, 1});
    EXPECT_EQ(num_wrong(found, layout, formed, comm.rank(), 3), 0) << name;
    EXPECT_EQ(std::ranges::count(found, -1.0), std::ssize(found) - layout.num_items(comm.rank()));
  }
  const auto text = error_of([&] {
    auto small = v;
    input.read("u", layout, small, {.halo = 1});
  });
  EXPECT_NE(text.find("with its halo, box"), std::string::npos) << text;
}

/// A halo wider than the part, and ranks that hold nothing.
TEST_F(TypedTest, HalosMayBeWiderThanThePart) {
  const auto part = own_box(comm, {comm.num_ranks(), 2}, {comm.rank(), 0},
                            {comm.rank() == 0 && comm.num_ranks() > 1 ? 0 : 1, 2});
  std::vector<double> u(7 * 8, -1);
  u[3 * 8 + 3] = comm.rank();
  u[3 * 8 + 4] = comm.rank() + 0.5;
  Output output(comm);
  output.write(path("wide.h5"), {.variables = {{"u", part, u, {.halo = 3}}}});
  output.finish();
  std::vector<double> found(static_cast<std::size_t>(2 * comm.num_ranks()));
  const Input input(comm, path("wide.h5"));
  input.read_all("u", ItemType::float64, found.data());
  for (int r = 0; r < comm.num_ranks(); ++r) {
    const bool held = comm.num_ranks() == 1 || r > 0;  // a gap reads as 0
    EXPECT_EQ(found[static_cast<std::size_t>(2 * r)], held ? r : 0);
    EXPECT_EQ(found[static_cast<std::size_t>(2 * r + 1)], held ? r + 0.5 : 0);
  }
  std::vector<double> back(7 * 8, -1);
  input.read("u", part, back, {.halo = 3});
  EXPECT_EQ(back == u, part.num_items(comm.rank()) > 0);
}

TEST_F(TypedTest, PartsThatOverlapAreOneErrorOnAll) {
  if (comm.num_ranks() == 1) return;
  const std::vector<double> u(2, 1.0);
  const auto pairs = own_box(comm, {comm.num_ranks() + 1}, {comm.rank()}, {2});
  const FileContents contents{.variables = {{"u", pairs, u}}};
  const std::string expected = "rank 0 and rank 1 both hold [1:2]";
  Output output(comm);
  const auto of_output = error_of([&] { output.write(path("a.h5"), contents); });
  EXPECT_NE(of_output.find(expected), std::string::npos) << of_output;
  for (const auto* servers : {"none", "thread"}) {
    Session session(comm.raw(), {.servers = servers});
    auto stream = session.open("fields");
    const auto of_stream = error_of([&] { stream.write(path("a.h5"), contents); });
    EXPECT_NE(of_stream.find(expected), std::string::npos) << of_stream;
    stream.finish();
    session.close();
  }
  // Each rank reads what it asks for, whatever others ask for.
  const auto single = own_box(comm, {comm.num_ranks() + 1}, {comm.rank()},
                              {comm.rank() == comm.num_ranks() - 1 ? 2 : 1});
  const std::vector<double> v(static_cast<std::size_t>(single.num_items(comm.rank())), comm.rank());
  output.write(path("b.h5"), {.variables = {{"v", single, v}}});
  output.finish();
  std::vector<double> found(2);
  Input(comm, path("b.h5")).read("v", pairs, found);
  EXPECT_EQ(found[0], comm.rank());
  EXPECT_EQ(found[1], std::min(comm.rank() + 1, comm.num_ranks() - 1));
}

/// Arrays with halos, and with axes in another order, are the files of dense arrays.
TEST_F(TypedTest, HalosAndOrdersOfAxesAreLeftOut) {
  const auto box = layout.box(comm.rank());
  const auto dense = filled<double>(layout, memory, comm.rank(), 3);
  const std::vector<ArrayForm> forms{
      {.halo = 1}, {.halos = {0, 2, 1}}, {.order = {2, 0, 1}}, {.halo = 2, .order = {1, 2, 0}}};
  const auto in_form = [&](const ArrayForm& form) {
    auto halos = form.halos.empty() ? std::vector<std::ptrdiff_t>(3, form.halo) : form.halos;
    const auto order = form.order.empty() ? std::vector<int>{0, 1, 2} : form.order;
    return Memory::ordered(box, order, halos);
  };
  const auto write = [&](auto& output, const std::string& name, const ArrayForm& form) {
    const auto u = filled<double>(layout, in_form(form), comm.rank(), 3);
    output.write(path(name.c_str()), {.variables = {{"u", layout, u, form}}});
    output.finish();
    std::vector<double> found(dense.size());
    Input(comm, path(name.c_str())).read("u", layout, std::span(found));
    EXPECT_EQ(found, dense) << name;
  };
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const auto number = std::to_string(i);
    Output output(comm);
    write(output, "output" + number + ".h5", forms[i]);
    for (const auto* servers : {"none", "thread", "hidden"}) {
      Session session(comm.raw(), {.servers = servers});
      auto stream = session.open("fields");
      write(stream, servers + number + ".h5", forms[i]);
      session.close();
    }
  }
}

TEST_F(TypedTest, AFormThatDoesNotFitIsOneErrorOnAll) {
  const auto u = filled<double>(layout, memory, comm.rank(), 3);
  Output output(comm);
  const auto error = [&](const ArrayForm& form) {
    return error_of([&] { output.write(path("a.h5"), {.variables = {{"u", layout, u, form}}}); });
  };
  EXPECT_NE(error({.halo = 1}).find("with its halo, box"), std::string::npos);
  EXPECT_NE(error({.halo = -1}).find("none negative"), std::string::npos);
  EXPECT_NE(error({.order = {0, 0, 1}}).find("each of the 3 axes once"), std::string::npos);
  EXPECT_NE(error({.halos = {1}}).find("one entry for each axis"), std::string::npos);
  std::vector<std::vector<Box>> pairs;
  for (int r = 0; r < comm.num_ranks(); ++r)
    pairs.push_back({{1, {2 * r}, {1}}, {1, {2 * r + 1}, {1}}});
  const auto several = from_boxes({2 * comm.num_ranks()}, pairs);
  const std::vector<double> v(4);
  const auto text = error_of([&] {
    output.write(path("a.h5"), {.variables = {{"v", several, v, {.halo = 1}}}});
  });
  EXPECT_NE(text.find("2 boxes; halo and order apply to a single box"), std::string::npos) << text;
}

}  // namespace
}  // namespace tailrace
