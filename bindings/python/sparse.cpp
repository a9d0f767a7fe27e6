// SPDX-License-Identifier: BSD-3-Clause
// Sparse matrices and ILU(0) of one process; tailrace/sparse.py makes SciPy's operators of them.
#include "tailrace/sparse.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "arrays.hpp"
#include "tailrace/more/incomplete_lu.hpp"

namespace tailrace::python {

namespace {

/// Refuses what the library finds wrong with a matrix.
template <class Action>
auto checked_matrix(Action&& action) {
  try {
    return action();
  } catch (const std::invalid_argument& error) {
    refuse(error.what());
  } catch (const std::domain_error& error) {
    refuse(error.what());
  }
}

/// CSR arrays of SciPy: indices of 32 or 64 bits, values in double precision.
struct CsrArrays {
  CsrArrays(nb::handle indptr, nb::handle indices, nb::handle data)
      : starts(indptr, Use::read, "indptr"),
        columns(indices, Use::read, "indices"),
        values(data, Use::read, "data") {
    for (const auto& [array, what] : {std::pair{&starts, "indptr"}, {&columns, "indices"}}) {
      if (array->type == starts.type &&
          (array->type == ItemType::int32 || array->type == ItemType::int64)) {
        continue;
      }
      refuse(fmt::format("{}: has items {}; indptr and indices need int32 or int64, both the same",
                         what, name_of(array->type)));
    }
    if (values.type != ItemType::float64) {
      refuse(fmt::format("data: has items {}; needs float64", name_of(values.type)));
    }
    for (const auto& [array, what] :
         {std::pair{&starts, "indptr"}, {&columns, "indices"}, {&values, "data"}}) {
      if (array->shape.size() != 1 || !array->contiguous()) {
        refuse(fmt::format("{}: needs one axis without gaps", what));
      }
    }
  }
  /// `make` of the three spans, with the type of the indices.
  template <class Make>
  auto apply(Make&& make) const {
    const std::span items(reinterpret_cast<const double*>(values.data), size(values));
    if (starts.type == ItemType::int32)
      return make(of<std::int32_t>(starts), of<std::int32_t>(columns), items);
    return make(of<std::int64_t>(starts), of<std::int64_t>(columns), items);
  }

  Array starts, columns, values;

 private:
  static std::size_t size(const Array& array) {
    return static_cast<std::size_t>(array.num_items());
  }
  template <class T>
  static std::span<const T> of(const Array& array) {
    return {reinterpret_cast<const T*>(array.data), size(array)};
  }
};

/// `count` vectors of `length`: one axis, or two with the vectors along the second, column-major.
std::ptrdiff_t vectors_of(const Array& array, std::ptrdiff_t length, const std::string& what) {
  const auto axes = array.shape.size();
  const bool right = axes == 1 || axes == 2;
  if (array.type != ItemType::float64 || !right || array.shape[0] != length) {
    refuse(fmt::format("{}: has shape {} of {}; needs ({},) or ({}, vectors) of float64", what,
                       describe_shape(array.shape), name_of(array.type), length, length));
  }
  const bool dense = length <= 1 || array.strides[0] == 1;
  const bool side_by_side = axes == 1 || array.shape[1] <= 1 || array.strides[1] == length;
  if (!dense || !side_by_side) {
    refuse(
        fmt::format("{}: needs column-major order without gaps; see numpy.asfortranarray", what));
  }
  return axes == 1 ? 1 : array.shape[1];
}

sparse::MatrixOptions matrix_options(const std::string& format, double expected_multiplies,
                                     bool bit_for_bit, bool plain_values, int threads) {
  sparse::MatrixOptions options;
  options.format = format;
  options.expected_multiplies = expected_multiplies;
  options.bit_for_bit = bit_for_bit;
  options.plain_values = plain_values;
  options.threads = threads;
  return options;
}

template <class To, class From>
nb::object new_array(const std::vector<From>& values, ItemType type) {
  const std::array<std::ptrdiff_t, 1> shape{std::ssize(values)};
  nb::object made = empty_array(shape, type);
  const Array array(made, Use::write, "to_csr");
  std::ranges::copy(values, reinterpret_cast<To*>(array.data));
  return made;
}

nb::tuple to_csr(const sparse::Matrix& matrix) {
  const auto csr = matrix.to_csr();
  return nb::make_tuple(new_array<std::int64_t>(csr.row_starts, ItemType::int64),
                        new_array<std::int64_t>(csr.column_indices, ItemType::int64),
                        new_array<double>(csr.values, ItemType::float64));
}

/// y = A x or A^T x, one vector or several.
void multiply(const sparse::Matrix& a, bool transposed, nb::handle x, nb::handle y) {
  const Array from(x, Use::read, "x"), to(y, Use::write, "y");
  const auto length = transposed ? a.rows() : a.columns();
  const auto result_length = transposed ? a.columns() : a.rows();
  const auto vectors = vectors_of(from, length, "x");
  if (vectors_of(to, result_length, "y") != vectors) refuse("y: needs as many vectors as x");
  const auto* given = reinterpret_cast<const double*>(from.data);
  auto* result = reinterpret_cast<double*>(to.data);
  nb::gil_scoped_release released;
  if (transposed) {
    a.multiply_transposed(vectors, given, length, result, result_length);
  } else {
    a.multiply(vectors, given, length, result, result_length);
  }
}

void bind_matrix(nb::module_& module) {
  using sparse::Matrix;
  nb::class_<Matrix>(
      module, "SparseMatrix",
      "A sparse matrix in its fastest storage format; `tailrace.sparse` wraps it for SciPy. Local.")
      .def(
          "__init__",
          [](Matrix* self, std::ptrdiff_t columns, nb::object indptr, nb::object indices,
             nb::object data, const std::string& format, double expected_multiplies,
             bool bit_for_bit, bool plain_values, int threads) {
            const CsrArrays arrays(indptr, indices, data);
            const auto options =
                matrix_options(format, expected_multiplies, bit_for_bit, plain_values, threads);
            checked_matrix([&] {
              nb::gil_scoped_release released;
              arrays.apply([&](auto starts, auto places, auto values) {
                new (self) Matrix(columns, starts, places, values, options);
              });
            });
          },
          nb::arg("columns"), nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::kw_only(),
          nb::arg("format") = "auto", nb::arg("expected_multiplies") = 1000.0,
          nb::arg("bit_for_bit") = false, nb::arg("plain_values") = false, nb::arg("threads") = 1,
          nb::sig(
              "def __init__(self, columns: int, indptr: typing.Any, indices: typing.Any, data: "
              "typing.Any, *, format: str = 'auto', expected_multiplies: float = 1000.0, "
              "bit_for_bit: bool = False, plain_values: bool = False, threads: int = 1) -> None"))
      .def(
          "multiply",
          [](const Matrix& self, nb::object x, nb::object y) { multiply(self, false, x, y); },
          nb::arg("x"), nb::arg("y"),
          nb::sig("def multiply(self, x: typing.Any, y: typing.Any) -> None"),
          "Computes y = A x for a vector of float64, or for several in column-major order. Local.")
      .def(
          "multiply_transposed",
          [](const Matrix& self, nb::object x, nb::object y) { multiply(self, true, x, y); },
          nb::arg("x"), nb::arg("y"),
          nb::sig("def multiply_transposed(self, x: typing.Any, y: typing.Any) -> None"),
          "Computes y = A^T x from the same storage; vectors as for `multiply`. Local.")
      .def("to_csr", &to_csr,
           nb::sig("def to_csr(self) -> tuple[typing.Any, typing.Any, typing.Any]"),
           "The original matrix, as new arrays indptr, indices (int64) and data.")
      .def_prop_ro("shape",
                   [](const Matrix& self) { return std::pair(self.rows(), self.columns()); })
      .def_prop_ro("num_items", &Matrix::num_items)
      .def_prop_ro("storage", &Matrix::storage,
                   "Storage format and types of columns and values, as a text.")
      .def_prop_ro("memory_bytes", &Matrix::memory_bytes, "Size of the storage in bytes.");
}

void bind_incomplete_lu(nb::module_& module) {
  using sparse::IncompleteLu;
  nb::class_<IncompleteLu>(
      module, "IncompleteLu",
      "ILU(0) or ICC(0) of a sparse matrix; `tailrace.sparse` wraps it for SciPy. Local.")
      .def(
          "__init__",
          [](IncompleteLu* self, nb::object indptr, nb::object indices, nb::object data,
             const std::string& schedule, bool bit_for_bit, bool single_precision, bool symmetric) {
            const CsrArrays arrays(indptr, indices, data);
            sparse::IncompleteLuOptions options;
            options.schedule = schedule;
            options.bit_for_bit = bit_for_bit;
            options.single_precision = single_precision;
            checked_matrix([&] {
              nb::gil_scoped_release released;
              arrays.apply([&](auto starts, auto places, auto values) {
                if (symmetric) {
                  new (self) IncompleteLu(IncompleteLu::cholesky(starts, places, values, options));
                } else {
                  new (self) IncompleteLu(starts, places, values, options);
                }
              });
            });
          },
          nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::kw_only(),
          nb::arg("schedule") = "auto", nb::arg("bit_for_bit") = false,
          nb::arg("single_precision") = false, nb::arg("symmetric") = false,
          nb::sig(
              "def __init__(self, indptr: typing.Any, indices: typing.Any, data: typing.Any, *, "
              "schedule: str = 'auto', bit_for_bit: bool = False, single_precision: bool = "
              "False, symmetric: bool = False) -> None"))
      .def(
          "solve",
          [](const IncompleteLu& self, nb::object b, nb::object x) {
            const Array from(b, Use::read, "b"), to(x, Use::write, "x");
            if (vectors_of(from, self.rows(), "b") != 1 || vectors_of(to, self.rows(), "x") != 1) {
              refuse("b and x: need one vector each");
            }
            const auto n = static_cast<std::size_t>(self.rows());
            nb::gil_scoped_release released;
            self.solve({reinterpret_cast<const double*>(from.data), n},
                       {reinterpret_cast<double*>(to.data), n});
          },
          nb::arg("b"), nb::arg("x"),
          nb::sig("def solve(self, b: typing.Any, x: typing.Any) -> None"),
          "x = U^-1 L^-1 b; x may be b. Local.")
      .def_prop_ro("rows", &IncompleteLu::rows)
      .def_prop_ro("shift", &IncompleteLu::shift,
                   "Shift that ICC(0) added to the diagonal, relative to the diagonal.")
      .def_prop_ro("storage", &IncompleteLu::storage, "Schedule and type of the values, as a text.")
      .def_prop_ro("memory_bytes", &IncompleteLu::memory_bytes,
                   "Number of bytes that a solve reads.");
}

}  // namespace

void bind_sparse(nb::module_& module) {
  bind_matrix(module);
  bind_incomplete_lu(module);
}

}  // namespace tailrace::python
