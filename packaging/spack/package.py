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

    def test_own_program(self):
        """Build a program against the installation; two ranks write a file in the background."""
        source = r"""
#include "tailrace/output.hpp"
#include <vector>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    const tailrace::Comm comm(MPI_COMM_WORLD);
    const auto layout = tailrace::own_box(comm, {2, 3}, {comm.rank(), 0}, {1, 3});
    std::vector<double> u(3, 1.0 + comm.rank());
    tailrace::Output output(comm);
    output.write("u.h5", {.variables = {{"u", layout, u}}});
    output.finish();
  }
  MPI_Finalize();
}
"""
        project = """
cmake_minimum_required(VERSION 3.25)
project(mine LANGUAGES CXX)
find_package(tailrace REQUIRED)
add_executable(mine mine.cpp)
target_link_libraries(mine PRIVATE tailrace::tailrace)
"""
        with working_dir("own_program", create=True):
            for name, text in (("mine.cpp", source), ("CMakeLists.txt", project)):
                with open(name, "w") as file:
                    file.write(text)
            cmake = which("cmake", required=True)
            cmake("-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
            cmake("--build", "build")
            launch = which("mpirun", "mpiexec", required=True)
            launch("-n", "2", "build/mine")
            verify = Executable(self.prefix.bin.join("tailrace-verify"))
            verify("u.h5")
            dump = which("h5dump", required=True)
            found = dump("-d", "u", "-y", "-w", "80", "u.h5", output=str.split)
            assert "1, 1, 1," in found and "2, 2, 2" in found, found

    def test_programs(self):
        """Each installed program says what it is."""
        for name in ("tailrace-list", "tailrace-verify", "tailrace-turbulence"):
            with test_part(self, f"test_programs_{name}", purpose=f"{name} starts"):
                program = Executable(self.prefix.bin.join(name))
                assert program("--help", output=str.split, error=str.split)
