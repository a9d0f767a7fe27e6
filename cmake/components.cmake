# SPDX-License-Identifier: BSD-3-Clause
# The libraries that users link, one for each component; each needs only what it links itself.
#
#   move     chooser, and core, layout, tune, trace, move, model of src; MPI, fmt, OpenMP, threads,
#            xxhash
#   fft      fft; move; ducc0 (compiled in), FFTW if asked for
#   io       file, store; move; HDF5, liburing, codecs
#   servers  server; io, fft; HDF5, codecs
#   tailrace all of these
#
# What a package of an installed component is found by (cmake/tailraceConfig.cmake.in) is listed in
# tailrace_NAME_packages: a CMake package, or NAME=module for PkgConfig::NAME.

# tailrace_add_component(name LINKS component ... PACKAGES package ...)
function(tailrace_add_component name)
  cmake_parse_arguments(ARG "" "" "LINKS;PACKAGES" ${ARGN})
  set(library tailrace_${name})
  add_library(${library})
  add_library(tailrace::${name} ALIAS ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${library} PUBLIC cxx_std_20)
  target_compile_definitions(${library} PUBLIC OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  target_include_directories(
    ${library}
    PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src
  )
  target_include_directories(${library} SYSTEM PRIVATE ${NLOHMANN_JSON_INCLUDE_DIR})
  target_link_libraries(${library} PUBLIC MPI::MPI_CXX PRIVATE $<BUILD_INTERFACE:tailrace_flags>)
  foreach(component ${ARG_LINKS})
    target_link_libraries(${library} PUBLIC tailrace_${component})
  endforeach()
  if(BUILD_SHARED_LIBS)
    # Installed, they lie side by side.
    set_target_properties(${library} PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
  if(NOT library IN_LIST TAILRACE_PRODUCTS)
    set_target_properties(${library} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  tailrace_precompile(${library})
  tailrace_unite(${library})
  tailrace_need(${name} ${ARG_PACKAGES})
endfunction()

# tailrace_need(component package ...): links what the packages offer, and asks for them when the
# component is used.
macro(tailrace_need name)
  foreach(package ${ARGN})
    if("${package}" MATCHES "^(.+)=.+$")
      target_link_libraries(tailrace_${name} PRIVATE PkgConfig::${CMAKE_MATCH_1})
    elseif("${package}" STREQUAL OpenMP)
      target_link_libraries(tailrace_${name} PRIVATE OpenMP::OpenMP_CXX)
    elseif("${package}" STREQUAL HDF5)
      # By full path, or by the targets of its own package.
      target_include_directories(tailrace_${name} SYSTEM PRIVATE ${HDF5_C_INCLUDE_DIRS})
      target_link_libraries(tailrace_${name} PRIVATE ${HDF5_C_HL_LIBRARIES} ${HDF5_C_LIBRARIES})
      # Newer HDF5 libraries offer the calls of 1.10 under this name.
      target_compile_definitions(tailrace_${name} PRIVATE H5_USE_110_API)
    else()
      target_link_libraries(tailrace_${name} PRIVATE ${package}::${package})
    endif()
  endforeach()
  set_property(TARGET tailrace_${name} APPEND PROPERTY TAILRACE_PACKAGES ${ARGN})
endmacro()

# tailrace_need_codecs(component NAME=module NAME=library=header ...): links the codecs that are found
# and defines TAILRACE_HAVE_NAME. Those with a header are linked by path: the CMake packages of some
# need more languages.
function(tailrace_need_codecs component)
  set(target tailrace_${component})
  foreach(codec ${ARGN})
    string(REPLACE "=" ";" parts ${codec})
    list(GET parts 0 name)
    list(GET parts 1 library)
    list(LENGTH parts count)
    if(count EQUAL 2)
      pkg_check_modules(${name} QUIET IMPORTED_TARGET GLOBAL ${library})
      set(found ${${name}_FOUND})
      if(found)
        tailrace_need(${component} ${name}=${library})
      endif()
    else()
      list(GET parts 2 header)
      find_library(${name}_LIBRARY ${library})
      find_path(${name}_INCLUDE_DIR ${header})
      if(${name}_LIBRARY AND ${name}_INCLUDE_DIR)
        set(found ON)
        target_link_libraries(${target} PRIVATE ${${name}_LIBRARY})
        target_include_directories(${target} SYSTEM PRIVATE ${${name}_INCLUDE_DIR})
      else()
        set(found OFF)
      endif()
    endif()
    if(found)
      target_compile_definitions(${target} PRIVATE TAILRACE_HAVE_${name}=1)
    else()
      message(STATUS "${component} is built without the codec of ${library}")
    endif()
  endforeach()
endfunction()

set(tailrace_components move fft io servers)
tailrace_add_component(move PACKAGES fmt OpenMP Threads XXHASH=libxxhash)
target_sources(tailrace_move PRIVATE $<TARGET_OBJECTS:tailrace_chooser>)
tailrace_add_component(fft LINKS move PACKAGES fmt OpenMP)
tailrace_add_component(io LINKS move PACKAGES fmt Threads XXHASH=libxxhash HDF5)
tailrace_add_component(servers LINKS io fft PACKAGES fmt Threads XXHASH=libxxhash HDF5)

add_library(tailrace INTERFACE)
add_library(tailrace::tailrace ALIAS tailrace)
foreach(component ${tailrace_components})
  target_link_libraries(tailrace INTERFACE tailrace_${component})
endforeach()
