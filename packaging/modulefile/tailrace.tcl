#%Module1.0
# SPDX-License-Identifier: BSD-3-Clause
# Tailrace for Environment Modules. `make module` fills in what is between two @.
set root @PREFIX@

proc ModulesHelp {} {
    puts stderr "Tailrace @VERSION@: hidden parallel output, and profiles of MPI programs."
    puts stderr "Start with: tailrace --help"
}
module-whatis "Tailrace @VERSION@: hidden parallel output, and profiles of MPI programs"
conflict tailrace
@NEEDS@
setenv TAILRACE_ROOT $root
prepend-path PATH $root/bin
prepend-path MANPATH $root/share/man
prepend-path LD_LIBRARY_PATH $root/@LIB@
prepend-path PKG_CONFIG_PATH $root/@LIB@/pkgconfig
prepend-path CMAKE_PREFIX_PATH $root
prepend-path PYTHONPATH $root/share/tailrace/python
