// SPDX-License-Identifier: BSD-3-Clause
// bench_trilinos_solve PROBLEM EDGE METHOD PRECONDITIONER ITERATIONS: AztecOO solves a matrix of
// Galeri, as an application that knows nothing of Tailrace would. bench/trilinos_pairs.py runs it
// with and without the plug-in. PROBLEM: Laplace3D, or Stretched2D, Recirc2D, UniFlow2D with about
// EDGE^3 rows. METHOD: cg, gmres, bicgstab. PRECONDITIONER: none, jacobi, ilu0, ic (Ifpack).
// Prints iterations, the norm of the solution and times of the slowest rank: of the solve by the
// clock on the wall, its processor time, and the setup of the preconditioner.
#include <AztecOO.h>
#include <Epetra_CrsMatrix.h>
#include <Epetra_Map.h>
#include <Epetra_MpiComm.h>
#include <Epetra_Vector.h>
#include <Galeri_CrsMatrices.h>
#include <Galeri_Maps.h>
#include <Ifpack_AdditiveSchwarz.h>
#include <Ifpack_IC.h>
#include <Ifpack_ILU.h>
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>

#include <Teuchos_ParameterList.hpp>

namespace {

struct Words {
  std::string problem, method, preconditioner;
  int edge, iterations;
};

std::unique_ptr<Epetra_CrsMatrix> make_matrix(const Words& words, Epetra_Comm& comm,
                                              std::unique_ptr<Epetra_Map>& map) {
  Teuchos::ParameterList list;
  const bool cube = words.problem.ends_with("3D");
  const int plane_edge = static_cast<int>(std::lround(std::pow(words.edge, 1.5)));
  const int edge = cube ? words.edge : plane_edge;
  list.set("nx", edge);
  list.set("ny", edge);
  if (cube) list.set("nz", edge);
  // Slabs of the last axis.
  list.set("mx", 1);
  list.set("my", cube ? 1 : comm.NumProc());
  if (cube) list.set("mz", comm.NumProc());
  list.set("epsilon", 0.1);
  list.set("diff", 1.0);
  map.reset(Galeri::CreateMap(cube ? "Cartesian3D" : "Cartesian2D", comm, list));
  return std::unique_ptr<Epetra_CrsMatrix>(Galeri::CreateCrsMatrix(words.problem, map.get(), list));
}

std::unique_ptr<Ifpack_Preconditioner> make_preconditioner(const Words& words,
                                                           Epetra_CrsMatrix& a) {
  std::unique_ptr<Ifpack_Preconditioner> made;
  if (words.preconditioner == "ilu0") made.reset(new Ifpack_AdditiveSchwarz<Ifpack_ILU>(&a, 0));
  if (words.preconditioner == "ic") made.reset(new Ifpack_AdditiveSchwarz<Ifpack_IC>(&a, 0));
  if (!made) return made;
  Teuchos::ParameterList list;
  list.set("fact: level-of-fill", words.preconditioner == "ic" ? 1 : 0);
  list.set("fact: ict level-of-fill", 1.0);  // as many as A has
  made->SetParameters(list);
  made->Initialize();
  made->Compute();
  return made;
}

double slowest(double mine, const Epetra_Comm& comm) {
  double all = 0;
  comm.MaxAll(&mine, &all, 1);
  return all;
}

double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void run(const Words& words) {
  Epetra_MpiComm comm(MPI_COMM_WORLD);
  std::unique_ptr<Epetra_Map> map;
  const auto a = make_matrix(words, comm, map);
  Epetra_Vector x(*map), b(*map);
  b.PutScalar(1);
  comm.Barrier();
  double start = MPI_Wtime();
  const auto preconditioner = make_preconditioner(words, *a);
  const double setup_s = slowest(MPI_Wtime() - start, comm);
  Epetra_LinearProblem problem(a.get(), &x, &b);
  AztecOO solver(problem);
  const auto method = words.method == "cg"      ? AZ_cg
                      : words.method == "gmres" ? AZ_gmres
                                                : AZ_bicgstab;
  solver.SetAztecOption(AZ_solver, method);
  solver.SetAztecOption(AZ_precond, words.preconditioner == "jacobi" ? AZ_Jacobi : AZ_none);
  if (preconditioner) solver.SetPrecOperator(preconditioner.get());
  solver.SetAztecOption(AZ_output, AZ_none);
  comm.Barrier();
  start = MPI_Wtime();
  const double cpu_start = cpu_s();
  solver.Iterate(words.iterations, 1e-10);
  const double solve_cpu_s = slowest(cpu_s() - cpu_start, comm);
  const double solve_s = slowest(MPI_Wtime() - start, comm);
  double norm = 0;
  x.Norm2(&norm);
  if (comm.MyPID() == 0) {
    std::printf("%d %.10e %.6f %.6f %.6f\n", solver.NumIters(), norm, solve_s, solve_cpu_s,
                setup_s);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr,
                 "usage: bench_trilinos_solve PROBLEM EDGE METHOD PRECONDITIONER ITERATIONS\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  run({argv[1], argv[3], argv[4], std::atoi(argv[2]), std::atoi(argv[5])});
  MPI_Finalize();
}
