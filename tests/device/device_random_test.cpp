// SPDX-License-Identifier: BSD-3-Clause
// The random files of tests/server/random, whose arrays lie in device memory; read back into it.
#include "fake_home.hpp"

namespace tailrace {
namespace {

FakeHome home;

[[maybe_unused]] const bool is_set = [] {
  array_home() = &home;
  return true;
}();

class DeviceRandom : public ::testing::Test {};

// Runs after the random files.
TEST_F(DeviceRandom, CopiesWhatIsWritten) { home.check(); }

}  // namespace
}  // namespace tailrace
