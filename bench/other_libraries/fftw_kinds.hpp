// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fftw3.h>

#include <string>

namespace bench {

/// Of "dct1" to "dst4", or of what inverts it, not normalised.
inline fftw_r2r_kind fftw_kind(const std::string& name, bool inverse) {
  const int number = name.back() - '0';
  const bool swaps = inverse && (number == 2 || number == 3);
  const fftw_r2r_kind cosines[] = {FFTW_REDFT00, FFTW_REDFT10, FFTW_REDFT01, FFTW_REDFT11};
  const fftw_r2r_kind sines[] = {FFTW_RODFT00, FFTW_RODFT10, FFTW_RODFT01, FFTW_RODFT11};
  return (name.rfind("dct", 0) == 0 ? cosines : sines)[(swaps ? 5 - number : number) - 1];
}

}  // namespace bench
