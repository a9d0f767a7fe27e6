# SPDX-License-Identifier: BSD-3-Clause
# `make deb`: what `cmake --install` copies, as a package of Debian and its relatives.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tailrace)
set(CPACK_PACKAGE_CONTACT "The Tailrace authors <tailrace@localhost>")
set(
  CPACK_PACKAGE_DESCRIPTION_SUMMARY
  "Hidden parallel output, exchanges and transforms of MPI programs"
)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# Programs and libtailrace.so need what they link; who links the C++ archives, the headers, too.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin)
set(
  CPACK_DEBIAN_PACKAGE_RECOMMENDS
  "g++, cmake, pkg-config, libopenmpi-dev, libhdf5-dev, libhdf5-openmpi-dev, libfmt-dev, libxxhash-dev, liburing-dev, libzstd-dev, zlib1g-dev, libisal-dev, libdeflate-dev, libbz2-dev, libzfp-dev, libopenblas-dev"
)
if(TARGET tailrace_caf_object)
  string(APPEND CPACK_DEBIAN_PACKAGE_RECOMMENDS ", libcoarrays-openmpi-dev")
endif()
if(TAILRACE_FFTW)
  string(APPEND CPACK_DEBIAN_PACKAGE_RECOMMENDS ", libfftw3-dev")
endif()
include(CPack)
