// SPDX-License-Identifier: BSD-3-Clause
#include "server/formats/encoding.hpp"

#include <algorithm>

#include "file/settings.hpp"
#include "server/formats/compressors.hpp"
#include "server/pipeline/settings.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {

Encoding parse_encoding(const std::vector<std::pair<std::string, std::string>>& settings) {
  SettingsReader reader("compress", settings);
  std::vector<std::string> names{"zfp"};
  for (const auto& entry : compressor_table()) names.emplace_back(entry.name);
  Encoding encoding;
  const bool have_zstd = find_compressor("zstd").compress != nullptr;
  encoding.codec = reader.word("codec", have_zstd ? "zstd" : "none", names);
  require_codec(encoding.codec);
  if (encoding.codec != "zfp") {
    const auto& compressor = find_compressor(encoding.codec);
    encoding.level = static_cast<int>(reader.number("level", compressor.default_level,
                                                    compressor.least_level, compressor.most_level));
    encoding.shuffle = reader.yes("shuffle", compressor.shuffle);
  }
  encoding.tolerance = reader.real("tolerance", 0);
  constexpr std::ptrdiff_t most = std::ptrdiff_t{1} << 30;
  const auto bytes = [&](const char* key, std::ptrdiff_t otherwise) {
    const auto text = reader.text(key, "");
    const auto value = text.empty() ? otherwise : file::parse_bytes(text, key);
    if (value < 64 || value > most) {
      throw Error(Errc::invalid_input, std::string("compress: ") + key + " = " + text +
                                           " must be 64 bytes to 1 GiB, e.g. 1M");
    }
    return value;
  };
  encoding.chunk_bytes = bytes("chunk_bytes", encoding.chunk_bytes);
  encoding.shard_bytes = bytes("shard_bytes", std::max(encoding.shard_bytes, encoding.chunk_bytes));
  if (!(encoding.tolerance >= 0 && encoding.tolerance < 1e300)) {
    throw Error(Errc::invalid_input,
                "compress: tolerance must be the largest absolute error, or 0 for lossless");
  }
  reader.finish();
  return encoding;
}

}  // namespace tailrace::server
