-- SPDX-License-Identifier: BSD-3-Clause
-- Tailrace for Lmod. `make module` fills in what is between two @.
local root = "@PREFIX@"

whatis("Name: Tailrace")
whatis("Version: @VERSION@")
whatis("Description: Hidden parallel output, and profiles of MPI programs")
help([[Tailrace @VERSION@: hidden parallel output, and profiles of MPI programs.
Start with: tailrace --help]])
conflict("tailrace")
@NEEDS@
setenv("TAILRACE_ROOT", root)
prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))
prepend_path("LD_LIBRARY_PATH", pathJoin(root, "@LIB@"))
prepend_path("PKG_CONFIG_PATH", pathJoin(root, "@LIB@/pkgconfig"))
prepend_path("CMAKE_PREFIX_PATH", root)
prepend_path("PYTHONPATH", pathJoin(root, "share/tailrace/python"))
