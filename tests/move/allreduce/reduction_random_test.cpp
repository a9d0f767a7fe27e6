// SPDX-License-Identifier: BSD-3-Clause
// Random reductions against MPI's own: any method, type, operation, length and root, in place or
// not, blocking or not, several under way that end in any order, late ranks, and objects that end
// early. Guards around all results.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/wait.hpp"
#include "move/allreduce/reducer.hpp"
#include "random_problems.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace {
namespace {

using Bytes = std::vector<std::byte>;

/// Small whole numbers, whose sums are exact.
template <class T>
Bytes values_of(int rank, std::ptrdiff_t count, std::ptrdiff_t salt) {
  Bytes bytes(static_cast<std::size_t>(count) * sizeof(T));
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const auto whole = static_cast<int>((salt + 37 * rank + 11 * i + rank * i) % 101 - 50);
    T value{};
    if constexpr (is_complex(number_type<T>)) {
      using Real = typename T::value_type;
      value = {static_cast<Real>(whole), static_cast<Real>(2 * whole + rank)};
    } else {
      value = static_cast<T>(whole);
    }
    std::memcpy(bytes.data() + i * static_cast<std::ptrdiff_t>(sizeof(T)), &value, sizeof(T));
  }
  return bytes;
}

/// One operation, ours and MPI's.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual void run() = 0;
  virtual void start() = 0;
  /// What is wrong with the result, or "".
  virtual std::string check() = 0;
  Reduction& reduction() { return *reduction_; }
  void forget() { reduction_.reset(); }

 protected:
  std::unique_ptr<Reduction> reduction_;
  std::string text_;
};

template <class T>
class OperationOf : public Operation {
 public:
  OperationOf(const Comm& comm, const std::string& method, Dice& dice) : comm_(comm) {
    constexpr std::ptrdiff_t lengths[] = {1, 1, 2, 7, 64, 130, 1000, 4100, 33'000, 140'000};
    count_ = dice.chance(8) ? 0 : dice.one_of(lengths);
    const auto longest = count_ + dice.between(1, 5);
    salt_ = dice.between(0, 1000);
    const bool sum = is_complex(number_type<T>) || dice.chance(50);
    op_ = sum ? ReduceOp::sum : dice.chance(50) ? ReduceOp::min : ReduceOp::max;
    to_root_ = dice.chance(33);
    root_ = static_cast<int>(dice.between(0, comm.num_ranks() - 1));
    in_place_ = to_root_ || dice.chance(50);
    in_ = values_of<T>(comm.rank(), count_, salt_);
    out_ = guarded(in_place_ ? in_ : Bytes(in_.size()));
    reduction_ = std::make_unique<Reduction>(comm, ReductionShape{number_type<T>, longest}, method);
    text_ = method + ", " + std::to_string(count_) + " " +
            std::string(number_name(number_type<T>)) + (to_root_ ? " to a root" : "") +
            (in_place_ ? " in place" : "");
  }
  void run() override {
    if (to_root_) return reduction_->reduce(out(), op_, root_);
    if (in_place_) return reduction_->allreduce(out(), op_);
    reduction_->allreduce(in(), out(), op_);
  }
  void start() override {
    if (to_root_) return reduction_->start_reduce(out(), op_, root_);
    if (in_place_) return reduction_->start_allreduce(out(), op_);
    reduction_->start_allreduce(in(), out(), op_);
  }
  std::string check() override {
    auto expected = values_of<T>(comm_.rank(), count_, salt_);
    const auto type = real_type(number_type<T>);
    const int numbers = static_cast<int>(count_) * (is_complex(number_type<T>) ? 2 : 1);
    MPI_Allreduce(MPI_IN_PLACE, expected.data(), numbers, mpi_type(type), mpi_op(op_), comm_.raw());
    const bool has_result = !to_root_ || comm_.rank() == root_;
    if (in_ != values_of<T>(comm_.rank(), count_, salt_)) return "changed the input of " + text_;
    return out_ == guarded(has_result ? expected : in_) ? "" : "wrong result or guard of " + text_;
  }

 private:
  static constexpr std::size_t guard_bytes = 64;
  static Bytes guarded(const Bytes& bytes) {
    Bytes all(bytes.size() + 2 * guard_bytes, std::byte{0xEE});
    std::ranges::copy(bytes, all.begin() + guard_bytes);
    return all;
  }
  std::span<T> out() {
    return {reinterpret_cast<T*>(out_.data() + guard_bytes), static_cast<std::size_t>(count_)};
  }
  std::span<const T> in() const {
    return {reinterpret_cast<const T*>(in_.data()), static_cast<std::size_t>(count_)};
  }

  const Comm& comm_;
  std::ptrdiff_t count_ = 0, salt_ = 0;
  ReduceOp op_ = ReduceOp::sum;
  bool to_root_ = false, in_place_ = true;
  int root_ = 0;
  Bytes in_, out_;
};

std::unique_ptr<Operation> make_operation(const Comm& comm, const std::string& method, Dice& dice) {
  switch (dice.between(0, 5)) {
    case 0:
      return std::make_unique<OperationOf<float>>(comm, method, dice);
    case 1:
      return std::make_unique<OperationOf<double>>(comm, method, dice);
    case 2:
      return std::make_unique<OperationOf<std::complex<float>>>(comm, method, dice);
    case 3:
      return std::make_unique<OperationOf<std::complex<double>>>(comm, method, dice);
    case 4:
      return std::make_unique<OperationOf<std::int32_t>>(comm, method, dice);
    default:
      return std::make_unique<OperationOf<std::int64_t>>(comm, method, dice);
  }
}

std::vector<std::string> methods_here(const Comm& comm) {
  std::vector<std::string> names{"auto"};
  for (const auto& method : reduction_methods()) {
    try {
      const Reduction tried(comm, {}, method.name);
      names.emplace_back(method.name);
    } catch (const Error&) {  // does not apply
    }
  }
  return names;
}

void nap_sometimes(const Comm& comm, Dice& dice) {
  const auto late = dice.between(0, 3 * comm.num_ranks());  // often nobody
  const auto parts = dice.between(1, 20);
  if (late == comm.rank()) nap(WaitPolicy{}, 1e-4 * static_cast<double>(parts));
}

/// Several operations under way; each rank ends them in an order of its own.
std::string solve(const Comm& comm, const std::vector<std::string>& methods, Dice& dice) {
  std::vector<std::unique_ptr<Operation>> operations;
  for (auto n = dice.between(1, 4); n > 0; --n) {
    operations.push_back(make_operation(comm, dice.one_of(methods), dice));
  }
  if (operations.size() == 1 && dice.chance(50)) {
    nap_sometimes(comm, dice);
    operations[0]->run();
    return operations[0]->check();
  }
  for (auto& one : operations) {
    nap_sometimes(comm, dice);
    one->start();
  }
  std::vector<std::size_t> order(operations.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const bool left_early = dice.chance(20);
  Dice own(dice.bits() + static_cast<std::uint64_t>(comm.rank()));
  own.shuffle(order);
  for (const auto i : order) {
    if (own.chance(25)) nap(WaitPolicy{}, 1e-4 * static_cast<double>(own.between(1, 10)));
    auto& reduction = operations[i]->reduction();
    if (left_early) {
      operations[i]->forget();  // its destructor ends it
      continue;
    }
    switch (own.between(0, 2)) {
      case 0:
        while (!reduction.progress()) nap(WaitPolicy{}, 1e-5);
        break;
      case 1:
        reduction.progress();
        break;
      default:
        break;
    }
    reduction.finish();
  }
  std::string fault;
  for (auto& one : operations) fault += one->check();
  return fault;
}

TEST(RandomReductions, AreThoseOfMpi) {
  const Comm comm(MPI_COMM_WORLD);
  const auto methods = methods_here(comm);
  RandomProblems(comm, 150).run([&](std::uint64_t seed) {
    Dice dice(seed);
    return solve(comm, methods, dice);
  });
}

}  // namespace
}  // namespace tailrace
