// SPDX-License-Identifier: BSD-3-Clause
#include "core/under_way.hpp"

#include <future>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

namespace tailrace {
namespace {

class Operation final : public UnderWay {
 public:
  using UnderWay::enter;
  using UnderWay::leave;
  int advanced = 0;

 private:
  void advance() override { ++advanced; }
};

TEST(UnderWay, AllOfAThreadAreAdvanced) {
  Operation first, second;
  EXPECT_FALSE(UnderWay::any());
  first.enter();
  first.enter();
  second.enter();
  UnderWay::advance_all();
  first.leave();
  UnderWay::advance_all();
  EXPECT_EQ(first.advanced, 1);
  EXPECT_EQ(second.advanced, 2);
  std::thread([] { EXPECT_FALSE(UnderWay::any()); }).join();
}

// What another thread ends must not be advanced any more by the one that started it.
TEST(UnderWay, AnotherThreadMayEndWhatOneStarted) {
  std::optional<Operation> ended(std::in_place);
  Operation other;
  std::promise<void> started, left;
  std::thread thread([&] {
    ended->enter();
    other.enter();
    started.set_value();
    left.get_future().wait();
    UnderWay::advance_all();
    EXPECT_TRUE(UnderWay::any());
  });
  started.get_future().wait();
  ended.reset();
  EXPECT_FALSE(UnderWay::any());
  left.set_value();
  thread.join();
  EXPECT_EQ(other.advanced, 1);
}

TEST(UnderWay, WhatOutlivesItsThreadMayGoOnInAnother) {
  Operation operation;
  std::thread([&] { operation.enter(); }).join();
  UnderWay::advance_all();
  EXPECT_EQ(operation.advanced, 0);
  operation.leave();
  operation.enter();
  UnderWay::advance_all();
  EXPECT_EQ(operation.advanced, 1);
}

}  // namespace
}  // namespace tailrace
