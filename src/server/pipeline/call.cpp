// SPDX-License-Identifier: BSD-3-Clause
// A user's C++ function on each server's parts.
#include <mutex>

#include "entries.hpp"
#include "functions.hpp"
#include "settings.hpp"

namespace tailrace::server {

namespace {

class CallStage : public Stage {
 public:
  explicit CallStage(const StageSettings& settings) {
    SettingsReader reader("call", settings);
    name_ = reader.required("name");
    reader.finish();
  }

  void take_functions(const StageFunctions& functions) override {
    function_ = find_stage_function(functions, name_);
  }

  void run(Step& step, StageContext&) override {
    const auto parts = std::make_shared<std::vector<StagePart>>();
    for (const auto& field : step.fields) {
      for (const auto& part : field.parts) {
        const auto dims = static_cast<std::size_t>(field.num_dims());
        const auto bytes = part.box.num_items() * item_bytes(field.type);
        parts->push_back({field.name,
                          field.type,
                          part.box,
                          {field.extents.begin(), field.extents.begin() + dims},
                          {part.data, part.data + bytes}});
      }
    }
    {
      static std::mutex one_at_a_time;  // streams make their products side by side
      const std::lock_guard lock(one_at_a_time);
      call_user(name_, [&] { function_(step.step, *parts); });
    }
    auto made = parts->begin();
    for (auto& field : step.fields) {
      for (auto& part : field.parts) {
        const auto bytes = static_cast<std::size_t>(part.box.num_items() * item_bytes(field.type));
        if (made->data.size() != bytes) {
          throw Error(Errc::invalid_input,
                      "function " + name_ + " changed the size of " + field.name);
        }
        part.data = (made++)->data.data();
      }
    }
    step.memory.push_back(parts);
  }

 private:
  std::string name_;
  StageFunction function_;
};

}  // namespace

MadeStage make_call(const StageSettings& settings) { return std::make_unique<CallStage>(settings); }

}  // namespace tailrace::server
