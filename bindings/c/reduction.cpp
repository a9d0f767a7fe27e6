// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/reduction.hpp"

#include <complex>

#include <fmt/format.h>

#include "call_check.hpp"
#include "objects.hpp"
#include "tailrace/c/reduction.h"

namespace tailrace::c {

namespace {

struct ReductionObject {
  std::shared_ptr<Comm> comm;
  Reduction reduction;
};

}  // namespace

TAILRACE_BEHIND(tailrace_reduction, ReductionObject)

namespace {

[[noreturn]] void refuse_type(int type, const char* right) {
  throw Error(Errc::invalid_input, fmt::format("type {} cannot be reduced; {} can", type, right));
}

/// Calls `body` with a number of the C++ type that a constant stands for.
template <class Body>
void with_type(int type, Body&& body) {
  switch (type) {
    case TAILRACE_FLOAT32:
      return body(float{});
    case TAILRACE_FLOAT64:
      return body(double{});
    case TAILRACE_COMPLEX64:
      return body(std::complex<float>{});
    case TAILRACE_COMPLEX128:
      return body(std::complex<double>{});
    case TAILRACE_INT32:
      return body(std::int32_t{});
    case TAILRACE_INT64:
      return body(std::int64_t{});
    default:
      refuse_type(type, "float32, float64, complex64, complex128, int32 and int64");
  }
}

ReduceOp op_of(int op) { return enumerator<ReduceOp>(op, 3, "op"); }

/// Checks what calls have in common, on this rank.
void check_task(const ReductionObject& made, const void* in, const void* out,
                std::int64_t num_items, int type, int op) {
  check_call(*made.comm, [&] {
    op_of(op);
    with_type(type, [](auto) {});
    list(static_cast<const std::byte*>(in), num_items, "in");
    list(static_cast<const std::byte*>(out), num_items, "out");
  });
}

template <class T>
std::span<const T> items(const void* in, std::int64_t count) {
  return {static_cast<const T*>(in), static_cast<std::size_t>(count)};
}
template <class T>
std::span<T> items(void* out, std::int64_t count) {
  return {static_cast<T*>(out), static_cast<std::size_t>(count)};
}

/// Forms dot products, or starts to.
template <class T, class Result, class Run>
void run_dots(int num_pairs, const void* const* x, const void* const* y, const int64_t* num_items,
              void* results, Run&& run) {
  std::vector<DotPair<T>> pairs;
  for (std::size_t p = 0; p < static_cast<std::size_t>(num_pairs); ++p) {
    pairs.push_back({items<T>(x[p], num_items[p]), items<T>(y[p], num_items[p])});
  }
  run(std::span<const DotPair<T>>(pairs), items<Result>(results, num_pairs));
}

template <class Run>
void dots_of_type(const ReductionObject& made, int num_pairs, const void* const* x,
                  const void* const* y, const int64_t* num_items, int type, void* results,
                  Run&& run) {
  check_call(*made.comm, [&] {
    list(x, num_pairs, "x");
    list(y, num_pairs, "y");
    if (num_pairs > 0) require_address(results, "results");
    std::size_t p = 0;
    for (const auto count : list(num_items, num_pairs, "num_items")) {
      list(static_cast<const std::byte*>(x[p]), count, "x");
      list(static_cast<const std::byte*>(y[p++]), count, "y");
    }
    const bool sums = type == TAILRACE_FLOAT32 || type == TAILRACE_FLOAT64 ||
                      type == TAILRACE_COMPLEX64 || type == TAILRACE_COMPLEX128;
    if (!sums) refuse_type(type, "for dot products float32, float64, complex64 and complex128");
  });
  using std::complex;
  switch (type) {
    case TAILRACE_FLOAT32:
      return run_dots<float, double>(num_pairs, x, y, num_items, results, run);
    case TAILRACE_FLOAT64:
      return run_dots<double, double>(num_pairs, x, y, num_items, results, run);
    case TAILRACE_COMPLEX64:
      return run_dots<complex<float>, complex<double>>(num_pairs, x, y, num_items, results, run);
    default:
      return run_dots<complex<double>, complex<double>>(num_pairs, x, y, num_items, results, run);
  }
}

void reduction_create(Ref<tailrace_comm> ranks, const tailrace_reduction_options& wanted,
                      tailrace_reduction** reduction) {
  ReductionShape shape;
  shape.max_items = wanted.max_items;
  prepare_together(*ranks, [&] {
    require_address(reduction, "reduction");
    with_type(wanted.type, [&]<class T>(T) { shape.type = number_type<T>; });
    require(wanted.max_items >= 0, "max_items must not be negative");
  });
  put(reduction, std::make_shared<ReductionObject>(ReductionObject{
                     ranks, Reduction(*ranks, shape, text_or(wanted.method, "auto"))}));
}

void reduction_allreduce(Ref<tailrace_reduction> made, const void* in, void* out, int64_t num_items,
                         int type, int op) {
  check_task(*made, in, out, num_items, type, op);
  with_type(type, [&]<class T>(T) {
    made->reduction.allreduce<T>(items<T>(in, num_items), items<T>(out, num_items), op_of(op));
  });
}

void reduction_reduce(Ref<tailrace_reduction> made, void* values, int64_t num_items, int type,
                      int op, int root) {
  check_task(*made, values, values, num_items, type, op);
  with_type(type, [&]<class T>(T) {
    made->reduction.reduce<T>(items<T>(values, num_items), op_of(op), root);
  });
}

void reduction_barrier(Ref<tailrace_reduction> reduction) { reduction->reduction.barrier(); }

void reduction_dots(Ref<tailrace_reduction> made, int num_pairs, const void* const* x,
                    const void* const* y, const int64_t* num_items, int type, void* results) {
  dots_of_type(*made, num_pairs, x, y, num_items, type, results,
               [&](auto pairs, auto sums) { made->reduction.dots(pairs, sums); });
}

void reduction_allreduce_parts(Ref<tailrace_reduction> made, int num_parts,
                               const void* const* parts, void* out, int64_t num_items, int type,
                               int op) {
  check_task(*made, out, out, num_items, type, op);
  check_call(*made->comm, [&] {
    require(num_parts > 0, "num_parts must be positive");
    list_of(parts, num_parts, "parts");
  });
  with_type(type, [&]<class T>(T) {
    std::vector<const T*> vectors;
    for (const void* const part : list(parts, num_parts, "parts")) {
      vectors.push_back(static_cast<const T*>(part));
    }
    made->reduction.allreduce_parts<T>(vectors, items<T>(out, num_items), op_of(op));
  });
}

void reduction_start_allreduce(Ref<tailrace_reduction> made, const void* in, void* out,
                               int64_t num_items, int type, int op) {
  check_task(*made, in, out, num_items, type, op);
  with_type(type, [&]<class T>(T) {
    made->reduction.start_allreduce<T>(items<T>(in, num_items), items<T>(out, num_items),
                                       op_of(op));
  });
}

void reduction_start_reduce(Ref<tailrace_reduction> made, void* values, int64_t num_items, int type,
                            int op, int root) {
  check_task(*made, values, values, num_items, type, op);
  with_type(type, [&]<class T>(T) {
    made->reduction.start_reduce<T>(items<T>(values, num_items), op_of(op), root);
  });
}

void reduction_start_barrier(Ref<tailrace_reduction> reduction) {
  reduction->reduction.start_barrier();
}

void reduction_start_dots(Ref<tailrace_reduction> made, int num_pairs, const void* const* x,
                          const void* const* y, const int64_t* num_items, int type, void* results) {
  dots_of_type(*made, num_pairs, x, y, num_items, type, results,
               [&](auto pairs, auto sums) { made->reduction.start_dots(pairs, sums); });
}

bool reduction_progress(Ref<tailrace_reduction> reduction) {
  return reduction->reduction.progress();
}

void reduction_finish(Ref<tailrace_reduction> reduction) { reduction->reduction.finish(); }

std::string reduction_method(Ref<tailrace_reduction> reduction) {
  return std::string(reduction->reduction.method());
}

std::string reduction_why(Ref<tailrace_reduction> reduction) { return reduction->reduction.why(); }

int64_t reduction_buffer_bytes(Ref<tailrace_reduction> reduction) {
  return reduction->reduction.buffer_bytes();
}

void reduction_method_info(int index, const char** name, const char** summary) {
  table_row(reduction_methods(), index, name, summary);
}

}  // namespace

}  // namespace tailrace::c

tailrace_reduction_options tailrace_reduction_defaults(void) {
  return {TAILRACE_FLOAT64, ReductionShape{}.max_items, "auto"};
}

#include "calls/reduction.inc"
