# SPDX-License-Identifier: BSD-3-Clause
# What `pip install .` puts into the package (pyproject.toml), so that it needs no source tree: the
# module tailrace._core, the programs in tailrace/bin, what goes before MPI in tailrace/lib, the cases.
# Only `cmake --install --component wheel` installs it, as pip and tools/install_module do.
if(NOT TARGET _core)
  if(TAILRACE_WHEEL)
    message(FATAL_ERROR "The Python package needs Python's headers (Debian: python3-dev)")
  endif()
  return()
endif()
add_custom_target(tailrace_wheel DEPENDS _core tailrace_mpi)
install(TARGETS _core DESTINATION tailrace COMPONENT wheel EXCLUDE_FROM_ALL)
foreach(program ${tailrace_programs})
  if(TARGET ${program})
    add_dependencies(tailrace_wheel ${program})
    install(TARGETS ${program} DESTINATION tailrace/bin COMPONENT wheel EXCLUDE_FROM_ALL)
  endif()
endforeach()
get_property(before_mpi GLOBAL PROPERTY tailrace_before_mpi)
if(before_mpi)
  install(TARGETS ${before_mpi} DESTINATION tailrace/lib COMPONENT wheel EXCLUDE_FROM_ALL)
endif()
foreach(library tailrace_blas tailrace_lapack tailrace_petsc tailrace_trilinos)
  if(TARGET ${library})
    add_dependencies(tailrace_wheel ${library})
    install(TARGETS ${library} DESTINATION tailrace/lib COMPONENT wheel EXCLUDE_FROM_ALL)
  endif()
endforeach()
if(groundwater IN_LIST TAILRACE_APPS)
  # Its cases name them as ../chemistry/NAME.
  install(
    DIRECTORY ${PROJECT_SOURCE_DIR}/apps/groundwater/chemistry
    DESTINATION tailrace/cases
    COMPONENT wheel
    EXCLUDE_FROM_ALL
    FILES_MATCHING
    PATTERN *.toml
  )
endif()
foreach(app ${TAILRACE_APPS})
  install(
    DIRECTORY ${PROJECT_SOURCE_DIR}/apps/${app}/cases/
    DESTINATION tailrace/cases/${app}
    COMPONENT wheel
    EXCLUDE_FROM_ALL
    FILES_MATCHING
    PATTERN *.toml
  )
endforeach()
# In an environment with the command on its PATH, `man tailrace` finds these.
if(DEFINED SKBUILD_DATA_DIR)
  install(
    DIRECTORY ${PROJECT_SOURCE_DIR}/docs/man/
    DESTINATION ${SKBUILD_DATA_DIR}/share/man/man1
    COMPONENT wheel
    EXCLUDE_FROM_ALL
    FILES_MATCHING
    PATTERN *.1
  )
endif()
