// SPDX-License-Identifier: BSD-3-Clause
// The lines of the tables of back ends and strategies that serve comparison.
#pragma once

#include "file/strategy.hpp"
#include "file_back_ends/ompio.hpp"

namespace tailrace::file {

std::unique_ptr<BackEnd> open_mpiio(const OpenRequest& request);
std::unique_ptr<BackEnd> open_hdf5(const OpenRequest& request);
bool hdf5_available();
std::unique_ptr<Strategy> make_library_collective(const StrategyRequest& request);

inline constexpr BackEndEntry mpiio_entry{
    "mpiio",
    "MPI-IO with hints, independent and collective",
#ifdef OPEN_MPI
    "always; on OMPIO reads are independent and writes are read back (not with "
    "OMPI_MCA_io=romio321)",
#else
    "always",
#endif
    true,
    [] { return true; },
    open_mpiio,
    warn_of_ompio};

inline constexpr BackEndEntry hdf5_entry{
    "hdf5",
    "one dataset of parallel HDF5, independent and collective",
#ifdef OPEN_MPI
    "built with a parallel HDF5 of the same MPI; on OMPIO as mpiio",
#else
    "built with a parallel HDF5 of the same MPI",
#endif
    true,
    hdf5_available,
    open_hdf5,
    warn_of_ompio};

inline constexpr StrategyEntry library_collective_entry{
    "library_collective", "the collective calls of MPI-IO or parallel HDF5",
    "back ends mpiio and hdf5",
    [](const BackEndEntry& back_end) { return back_end.has_collective; }, make_library_collective};

}  // namespace tailrace::file
