# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` copies: library, headers, programs, and the package for find_package.
include(CMakePackageConfigHelpers)

set(tailrace_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tailrace)
# The MPI library, for a check where the package is found: its compilers with full paths, and of
# its name and number, as in libmpi.so.40, the number.
foreach(language CXX C Fortran)
  unset(tailrace_mpi_${language})
  if(MPI_${language}_COMPILER)
    find_program(tailrace_mpi_${language} NAMES ${MPI_${language}_COMPILER} NO_CACHE)
  endif()
  if(NOT tailrace_mpi_${language})
    set(tailrace_mpi_${language} "")
  endif()
endforeach()
include(cmake/mpi_number.cmake)
tailrace_mpi_number(tailrace_mpi_number "${MPI_CXX_LIBRARIES}")
file(READ cmake/mpi_number.cmake tailrace_mpi_number_text)
set(tailrace_hdf5_is_target OFF)
foreach(library ${HDF5_C_LIBRARIES} ${HDF5_C_HL_LIBRARIES})
  if(TARGET ${library})
    set(tailrace_hdf5_is_target ON)
  endif()
endforeach()
set(tailrace_c_needs "")
if(BUILD_SHARED_LIBS)
  set(tailrace_c_needs tailrace) # else it holds what it needs
endif()

# A set of targets for each component: who has not what one links can still use the others.
if(NOT library IN_LIST TAILRACE_PRODUCTS AND NOT (BUILD_SHARED_LIBS AND TAILRACE_NEEDS_LIBRARY))
  set(tailrace_components "") # what is linked statically is in the programs and plug-ins
endif()
foreach(component ${tailrace_components})
  get_target_property(packages tailrace_${component} TAILRACE_PACKAGES)
  list(REMOVE_DUPLICATES packages)
  if(BUILD_SHARED_LIBS)
    set(packages "") # they are linked already
  elseif(NOT tailrace_hdf5_is_target)
    list(REMOVE_ITEM packages HDF5) # linked by its full path
  endif()
  set(tailrace_${component}_packages "${packages}")
  install(TARGETS tailrace_${component} EXPORT tailrace_${component})
  install(
    EXPORT tailrace_${component}
    NAMESPACE tailrace::
    DESTINATION ${tailrace_package_dir}
    FILE tailrace_${component}.cmake
  )
endforeach()
if(tailrace_components)
  install(TARGETS tailrace EXPORT tailrace_tailrace)
  install(
    EXPORT tailrace_tailrace
    NAMESPACE tailrace::
    DESTINATION ${tailrace_package_dir}
    FILE tailrace_tailrace.cmake
  )
  install(DIRECTORY include/tailrace DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
if(kernels IN_LIST TAILRACE_PRODUCTS)
  install(DIRECTORY kernels/include/tailrace DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
foreach(component dense sparse krylov pdense)
  if(TARGET tailrace_${component} AND kernels IN_LIST TAILRACE_PRODUCTS)
    install(TARGETS tailrace_${component} EXPORT tailrace_${component})
    install(
      EXPORT tailrace_${component}
      NAMESPACE tailrace::
      DESTINATION ${tailrace_package_dir}
      FILE tailrace_${component}.cmake
    )
  endif()
endforeach()
configure_package_config_file(
  cmake/tailraceConfig.cmake.in
  tailraceConfig.cmake
  INSTALL_DESTINATION ${tailrace_package_dir}
)
# A project that asks for 0.1 gets 0.2, whose headers accept the names of 0.1.
write_basic_package_version_file(tailraceConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(
  FILES ${PROJECT_BINARY_DIR}/tailraceConfig.cmake ${PROJECT_BINARY_DIR}/tailraceConfigVersion.cmake
  DESTINATION ${tailrace_package_dir}
)
file(RELATIVE_PATH bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
foreach(program ${tailrace_programs})
  if(TARGET ${program})
    if(BUILD_SHARED_LIBS)
      set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
    endif()
    install(TARGETS ${program})
  endif()
endforeach()
