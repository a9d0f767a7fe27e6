# SPDX-License-Identifier: BSD-3-Clause
# The products of this repository, each of which configures, builds, tests and installs alone:
#
#   library   include, src, bindings: output, exchanges, transforms, for C++, C, Fortran and Python
#   kernels   kernels: dense and sparse systems; Krylov methods and ScaLAPACK with the library
#   plugins   plugins: what unchanged programs load
#   command   the compiled parts of the command `tailrace`
#   apps      turbulence, groundwater, helium
#
# By default those whose folders are present.
set(
  tailrace_known_products
  library
  kernels
  plugins
  command
  apps
)
set(
  tailrace_folders
  src
  kernels
  plugins
  apps/list
  apps/common
)
set(tailrace_found_products)
foreach(product folder IN ZIP_LISTS tailrace_known_products tailrace_folders)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt OR product STREQUAL library)
    if(EXISTS ${PROJECT_SOURCE_DIR}/${folder})
      list(APPEND tailrace_found_products ${product})
    endif()
  endif()
endforeach()
set(TAILRACE_PRODUCTS all CACHE STRING "What to build: all, or some of ${tailrace_known_products}")
set(TAILRACE_APPS turbulence helium groundwater CACHE STRING "Which applications to build")
option(TAILRACE_BUILD_APPS "Build the applications and the compiled parts of the command" ON)
if(TAILRACE_PRODUCTS STREQUAL all)
  set(TAILRACE_PRODUCTS ${tailrace_found_products})
  if(NOT TAILRACE_BUILD_APPS)
    list(REMOVE_ITEM TAILRACE_PRODUCTS command apps)
  endif()
endif()
foreach(product ${TAILRACE_PRODUCTS})
  if(NOT product IN_LIST tailrace_known_products)
    list(JOIN tailrace_known_products ", " names)
    message(FATAL_ERROR "TAILRACE_PRODUCTS names \"${product}\"; the products are ${names}")
  endif()
  if(NOT product IN_LIST tailrace_found_products)
    message(FATAL_ERROR "TAILRACE_PRODUCTS names ${product}, whose folder is not in this tree")
  endif()
endforeach()

# tailrace_needed(variable product ...): whether one of the products is to be built.
function(tailrace_needed variable)
  set(${variable} OFF PARENT_SCOPE)
  foreach(product ${ARGN})
    if(product IN_LIST TAILRACE_PRODUCTS)
      set(${variable} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()
tailrace_needed(TAILRACE_NEEDS_LIBRARY library plugins command apps)
tailrace_needed(TAILRACE_NEEDS_KERNELS kernels plugins apps)
set(TAILRACE_ALL_PRODUCTS ON)
foreach(product ${tailrace_known_products})
  if(NOT product IN_LIST TAILRACE_PRODUCTS)
    set(TAILRACE_ALL_PRODUCTS OFF)
  endif()
endforeach()
