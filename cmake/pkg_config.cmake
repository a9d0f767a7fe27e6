# SPDX-License-Identifier: BSD-3-Clause
# tailrace_install_pkg_config(name): installs NAME.pc, made of NAME.pc.in of the folder at the time of
# the installation, when its prefix is known.
function(tailrace_install_pkg_config name)
  install(
    CODE
      "set(CMAKE_INSTALL_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
set(CMAKE_INSTALL_INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
set(PROJECT_VERSION \"${PROJECT_VERSION}\")
# Programs find the shared libraries where the linker does not look by itself.
set(tailrace_rpath \"\")
if(NOT CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
  set(tailrace_rpath \"-Wl,-rpath,\\\${libdir} \")
endif()
configure_file(
  \"${CMAKE_CURRENT_SOURCE_DIR}/${name}.pc.in\"
  \"${CMAKE_CURRENT_BINARY_DIR}/${name}.pc\"
  @ONLY
)"
  )
  install(
    FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  )
endfunction()
