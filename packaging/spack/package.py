# SPDX-License-Identifier: BSD-3-Clause
"""Tailrace for Spack 1.0 or newer: put this file into packages/tailrace/ of a repository of yours
(`spack repo create`), then `TAILRACE_GIT=/path/to/your/clone spack install tailrace`."""

import os

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Tailrace(CMakePackage):
    """Keeps parallel simulations computing while their data moves: hidden output into HDF5,
    NetCDF-4 and Zarr, exchanges, reductions and transforms by the method that measures best."""

    git = os.environ.get("TAILRACE_GIT", "")

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("fftw", default=False, description="FFTW as a kernel of the transforms (GPL)")
    variant("fortran", default=True, description="The Fortran module")
    variant("lapack", default=True, description="Dense solvers, by any LAPACK")
    variant("shared", default=False, description="Shared libraries of the C++ components")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.11:", type="build")
    depends_on("mpi")
    depends_on("hdf5@1.10: +hl")
    depends_on("fmt")
    depends_on("nlohmann-json")
    depends_on("tomlplusplus")
    depends_on("xxhash")
    depends_on("zlib-api")
    depends_on("bzip2")
    depends_on("zstd")
    depends_on("libdeflate")
    depends_on("isa-l")
    depends_on("zfp")
    depends_on("liburing", when="platform=linux")
    depends_on("lapack", when="+lapack")
    depends_on("fftw@3: precision=float,double", when="+fftw")

    # The sources of the default kernel of the transforms; its library is not linked.
    resource(
        name="ducc0",
        git="https://gitlab.mpcdf.mpg.de/mtr/ducc.git",
        tag="ducc0_0_42_0",
        placement="ducc0",
    )

    generator("ninja")

    def cmake_args(self):
        return [
            self.define("TAILRACE_DUCC_DIR", join_path(self.stage.source_path, "ducc0")),
            self.define("TAILRACE_BUILD_TESTS", self.run_tests),
            self.define("TAILRACE_BUILD_BENCH", False),
            # Spack's compiler wrapper names the processor.
            self.define("TAILRACE_NATIVE", False),
            # CMake takes any LAPACK that it finds, the system's too.
            self.define("CMAKE_DISABLE_FIND_PACKAGE_LAPACK", self.spec.satisfies("~lapack")),
            self.define_from_variant("TAILRACE_FFTW", "fftw"),
            self.define_from_variant("TAILRACE_FORTRAN", "fortran"),
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
        ]
