// SPDX-License-Identifier: BSD-3-Clause
// compress codec=zstd level=3 tolerance=1e-3: how the file is to be encoded (docs/servers.md).
#include "server/formats/compressors.hpp"
#include "server/pipeline/settings.hpp"

namespace tailrace::server {
namespace {

class Compress : public Stage {
 public:
  explicit Compress(const StageSettings& settings) : settings_(settings) {
    parse_encoding(settings);  // refuses what is wrong now rather than at the first step
  }
  void run(Step& step, StageContext&) override { step.encoding = settings_; }
  bool computes() const override { return false; }

 private:
  StageSettings settings_;
};

}  // namespace

MadeStage make_compress(const StageSettings& settings) {
  return std::make_unique<Compress>(settings);
}

}  // namespace tailrace::server
