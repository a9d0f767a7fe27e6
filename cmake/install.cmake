# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` copies: library, headers, programs, and the package for find_package.
include(CMakePackageConfigHelpers)

set(tailrace_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tailrace)
set(tailrace_hdf5_is_target OFF)
foreach(library ${HDF5_C_LIBRARIES} ${HDF5_C_HL_LIBRARIES})
  if(TARGET ${library})
    set(tailrace_hdf5_is_target ON)
  endif()
endforeach()
set(tailrace_fftw "")
if(TAILRACE_FFTW)
  set(tailrace_fftw "FFTW=fftw3 FFTWF=fftw3f")
endif()
set(tailrace_uring "")
if(TARGET PkgConfig::URING)
  set(tailrace_uring URING=liburing)
endif()
set(tailrace_zstd "")
if(TARGET PkgConfig::ZSTD)
  set(tailrace_zstd ZSTD=libzstd)
endif()
if(NOT BUILD_SHARED_LIBS)
  set(BUILD_SHARED_LIBS OFF)
endif()

install(TARGETS tailrace EXPORT tailraceTargets)
if(TARGET tailrace_dense)
  # A set of its own: who has no LAPACK can still use the rest.
  install(TARGETS tailrace_dense EXPORT tailraceDenseTargets)
  install(EXPORT tailraceDenseTargets NAMESPACE tailrace:: DESTINATION ${tailrace_package_dir})
endif()
install(TARGETS tailrace_sparse EXPORT tailraceSparseTargets)
install(EXPORT tailraceSparseTargets NAMESPACE tailrace:: DESTINATION ${tailrace_package_dir})
install(TARGETS tailrace_krylov EXPORT tailraceKrylovTargets)
install(EXPORT tailraceKrylovTargets NAMESPACE tailrace:: DESTINATION ${tailrace_package_dir})
install(DIRECTORY include/tailrace DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tailraceTargets NAMESPACE tailrace:: DESTINATION ${tailrace_package_dir})
configure_package_config_file(
  cmake/tailraceConfig.cmake.in
  tailraceConfig.cmake
  INSTALL_DESTINATION ${tailrace_package_dir}
)
write_basic_package_version_file(tailraceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES ${PROJECT_BINARY_DIR}/tailraceConfig.cmake ${PROJECT_BINARY_DIR}/tailraceConfigVersion.cmake
  DESTINATION ${tailrace_package_dir}
)
file(RELATIVE_PATH bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
foreach(
  program
  tailrace-turbulence
  tailrace-list
  tailrace-price
  tailrace-verify
  tailrace-server
  tailrace-tune
)
  if(TARGET ${program})
    if(BUILD_SHARED_LIBS)
      set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
    endif()
    install(TARGETS ${program})
  endif()
endforeach()
