// SPDX-License-Identifier: BSD-3-Clause
// convert type=float32: items of another type; a value that it cannot hold is an error.

#include "core/refuse_input.hpp"
#include "core/round_up.hpp"
#include "core/worker.hpp"
#include "server/pipeline/settings.hpp"
#include "server/pipeline/stage_tools.hpp"
#include "store/item_convert.hpp"

namespace tailrace::server {
namespace {

class Convert : public Stage {
 public:
  explicit Convert(const StageSettings& settings) {
    SettingsReader reader("convert", settings);
    type_ = *find_type(reader.word("type", reader.required("type"), type_names()));
    reader.finish();
  }

  void run(Step& step, StageContext& context) override {
    for (auto& field : step.fields) {
      if (field.type == type_) continue;
      for (auto& part : field.parts) {
        auto* data = add_memory(step, part.box.num_items() * item_bytes(type_));
        convert(field, part, data, context.threads);
        part.data = data;
      }
      field.type = type_;
    }
  }

 private:
  static std::vector<std::string> type_names() {
    std::vector<std::string> names;
    for (const auto type : store::all_types) names.emplace_back(type_name(type));
    return names;
  }

  void convert(const Field& field, const FieldPart& part, std::byte* data, int threads) const {
    constexpr std::ptrdiff_t at_once = 1 << 18;
    const auto items = part.box.num_items();
    parallel_for(divide_up(items, at_once), threads, [&](std::ptrdiff_t piece) {
      const auto first = piece * at_once;
      const auto unfit =
          store::convert_items(field.type, type_, part.data + first * item_bytes(field.type),
                               std::min(at_once, items - first), data + first * item_bytes(type_));
      if (!unfit) return;
      refuse_input("{} holds {} ({}), which does not fit {}", field.name, *unfit,
                   type_name(field.type), type_name(type_));
    });
  }

  ItemType type_;
};

}  // namespace

MadeStage make_convert(const StageSettings& settings) {
  return std::make_unique<Convert>(settings);
}

}  // namespace tailrace::server
