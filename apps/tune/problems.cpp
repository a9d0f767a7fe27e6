// SPDX-License-Identifier: BSD-3-Clause
#include "problems.hpp"

#include <array>
#include <charconv>
#include <complex>
#include <cstddef>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "mpi_algorithms.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/fft.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace::apps {

namespace {

constexpr std::string_view syntax =
    "exchange:extents=64x64x64,grid=2x2,item=16,fields=1; alltoall:bytes=4096; "
    "allreduce:bytes=8,type=float64; fft:extents=64x64x64,grid=2x2,kind=real,precision=double; "
    "mpi_allreduce:bytes=8; mpi_alltoall:bytes=8; mpi_alltoallv:bytes=8";

[[noreturn]] void refuse(const TuneProblem& problem, std::string_view what) {
  throw Error(Errc::invalid_input,
              fmt::format("problem \"{}\": {} (problems are: {})", problem.text, what, syntax));
}

std::ptrdiff_t number_of(const TuneProblem& problem, std::string_view text) {
  std::ptrdiff_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 1) {
    refuse(problem, fmt::format("\"{}\" is not a positive integer", text));
  }
  return number;
}

/// "64x64x32"
std::vector<std::ptrdiff_t> numbers_of(const TuneProblem& problem, std::string_view text) {
  std::vector<std::ptrdiff_t> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find('x', at), text.size());
    numbers.push_back(number_of(problem, text.substr(at, end - at)));
    at = end + 1;
  }
  return numbers;
}

/// The values of a problem, each asked for once; one that nobody asks for is a slip.
class Reader {
 public:
  explicit Reader(const TuneProblem& problem) : problem_(problem), left_(problem.values) {}
  std::string word(const std::string& name, const std::string& otherwise) {
    const auto found = left_.extract(name);
    return found.empty() ? otherwise : found.mapped();
  }
  std::ptrdiff_t number(const std::string& name, std::ptrdiff_t otherwise) {
    const auto found = left_.extract(name);
    return found.empty() ? otherwise : number_of(problem_, found.mapped());
  }
  std::vector<std::ptrdiff_t> numbers(const std::string& name, std::size_t count) {
    const auto found = left_.extract(name);
    if (found.empty()) return {};
    auto list = numbers_of(problem_, found.mapped());
    if (list.size() != count) {
      refuse(problem_, fmt::format("{} must be {} numbers, as in 64x64", name, count));
    }
    return list;
  }
  /// Numbers of ranks along two axes; empty if they are not given.
  std::vector<std::ptrdiff_t> grid(int num_ranks) {
    auto given = numbers("grid", 2);
    if (!given.empty() && given[0] * given[1] != num_ranks) {
      refuse(problem_, fmt::format("grid={}x{} is for {} ranks, these are {}", given[0], given[1],
                                   given[0] * given[1], num_ranks));
    }
    return given;
  }
  void end() const {
    if (!left_.empty()) refuse(problem_, fmt::format("unknown word {}", left_.begin()->first));
  }

 private:
  const TuneProblem& problem_;
  std::map<std::string, std::string> left_;
};

/// As given, or nearly square, with several ranks along the second axis: those exchange.
std::array<int, 2> grid_of(const std::vector<std::ptrdiff_t>& given, int num_ranks) {
  if (!given.empty()) return {to_int(given[0]), to_int(given[1])};
  std::array<int, 2> grid{0, 0};
  check_mpi(MPI_Dims_create(num_ranks, 2, grid.data()));
  if (grid[1] == 1) std::swap(grid[0], grid[1]);
  return grid;
}

/// Pencils along x become pencils along y: half of the transposes of a 3D transform.
void tune_exchange(const Comm& comm, Reader& values) {
  auto extents = values.numbers("extents", 3);
  if (extents.empty()) extents = {64, 64, 64};
  const auto grid = grid_of(values.grid(comm.num_ranks()), comm.num_ranks());
  const ExchangeShape shape{values.number("item", 16), to_int(values.number("fields", 1)), false};
  values.end();
  const Layout from = pencils(extents, 2, grid);
  const Layout to = pencils(extents, 1, grid);
  Exchange(comm, Plan(from, to, comm.rank()), Memory::dense(from.boxes(comm.rank())),
           Memory::dense(to.boxes(comm.rank())), shape, "auto");
}

void tune_alltoall(const Comm& comm, Reader& values) {
  const std::ptrdiff_t bytes = values.number("bytes", 4096);
  values.end();
  tune_blocks(comm, bytes);
}

void tune_allreduce(const Comm& comm, const TuneProblem& problem, Reader& values) {
  const std::ptrdiff_t bytes = values.number("bytes", 8);
  const std::string name = values.word("type", "float64");
  values.end();
  for (const auto type : {NumberType::float32, NumberType::float64, NumberType::complex64,
                          NumberType::complex128, NumberType::int32, NumberType::int64}) {
    if (number_name(type) != name) continue;
    Reduction(comm, {type, std::max<std::ptrdiff_t>(1, bytes / number_bytes(type))}, "auto");
    return;
  }
  refuse(problem, fmt::format("type \"{}\" is unknown", name));
}

template <class Real>
void tune_transform(const Comm& comm, const fft::Problem& problem) {
  fft::Transform<Real>(comm, problem);
}

void tune_fft(const Comm& comm, const TuneProblem& problem, Reader& values) {
  fft::Problem asked;
  auto extents = values.numbers("extents", 3);
  if (extents.empty()) extents = {64, 64, 64};
  std::copy_n(extents.begin(), 3, asked.extents.begin());
  if (const auto grid = values.grid(comm.num_ranks()); !grid.empty()) {
    asked.grid = {to_int(grid[0]), to_int(grid[1])};
  }
  asked.max_fields = to_int(values.number("fields", 1));
  const std::string kind = values.word("kind", "real");
  const std::string precision = values.word("precision", "double");
  values.end();
  if (kind != "real" && kind != "complex") refuse(problem, "kind is real or complex");
  if (precision != "single" && precision != "double") {
    refuse(problem, "precision is single or double");
  }
  asked.kind = kind == "real" ? fft::Kind::real_to_complex : fft::Kind::complex_to_complex;
  precision == "single" ? tune_transform<float>(comm, asked) : tune_transform<double>(comm, asked);
}

void tune_mpi(const Comm& comm, Collective collective, Reader& values) {
  const std::ptrdiff_t bytes = values.number("bytes", 8);
  values.end();
  const auto candidates = mpi_algorithms(comm, collective, bytes);
  tune::Problem asked;
  asked.operation = "mpi " + name_of(collective);
  asked.key = fmt::format("{} bytes a {}", bytes,
                          collective == Collective::allreduce ? "rank" : "pair of ranks");
  asked.fallback = candidates.front().name;
  asked.fallback_why = "the library's own choice";
  tune::choose(comm, asked, candidates);
}

}  // namespace

TuneProblem TuneProblem::parse(const std::string& text) {
  TuneProblem problem;
  problem.text = text;
  const auto colon = std::min(text.find(':'), text.size());
  problem.kind = text.substr(0, colon);
  for (std::size_t at = colon + 1; at < text.size();) {
    const auto end = std::min(text.find(',', at), text.size());
    const std::string pair = text.substr(at, end - at);
    const auto equals = pair.find('=');
    if (equals == std::string::npos) refuse(problem, fmt::format("\"{}\" has no =", pair));
    problem.values[pair.substr(0, equals)] = pair.substr(equals + 1);
    at = end + 1;
  }
  return problem;
}

void tune_problem(const Comm& comm, const TuneProblem& problem) {
  Reader values(problem);
  if (problem.kind == "exchange") return tune_exchange(comm, values);
  if (problem.kind == "alltoall") return tune_alltoall(comm, values);
  if (problem.kind == "allreduce") return tune_allreduce(comm, problem, values);
  if (problem.kind == "fft") return tune_fft(comm, problem, values);
  for (const auto collective :
       {Collective::allreduce, Collective::alltoall, Collective::alltoallv}) {
    if (problem.kind == "mpi_" + name_of(collective)) return tune_mpi(comm, collective, values);
  }
  refuse(problem, "unknown kind");
}

}  // namespace tailrace::apps
