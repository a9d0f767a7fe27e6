// SPDX-License-Identifier: BSD-3-Clause
// ADIOS2 as a program calls it: one BP5 file of steps, Put of the rank's box in each; the
// computation is bracketed, as asynchronous writing in "Guided" mode wants it.

#include "../servers_variant.hpp"

#ifdef BENCH_HAVE_ADIOS2

#include <adios2.h>

#include <algorithm>

namespace bench {

namespace {

using Parameters = adios2::Params;

adios2::Dims dims(const std::vector<std::ptrdiff_t>& values) {
  return {values.begin(), values.end()};
}

class Adios2 : public StepWriter {
 public:
  explicit Adios2(const Parameters& parameters)
      : comm_(MPI_COMM_WORLD), adios_(comm_.raw()), io_(adios_.DeclareIO("output")) {
    io_.SetEngine("BP5");
    io_.SetParameters(parameters);
  }
  const tailrace::Comm* compute() const override { return &comm_; }
  void open(const StepField& field) override {
    field_ = &field;
    const auto& part = *field.pattern.array;
    variable_ = io_.DefineVariable<double>("u", dims(part.extents), dims(part.start),
                                           dims(part.part), adios2::ConstantDims);
  }
  void begin() override {
    path_ = field_->path(runs_++) + ".bp";
    engine_ = io_.Open(path_, adios2::Mode::Write);
    steps_.clear();
  }
  void write(int step, const double* data) override {
    steps_.push_back(step);
    engine_.BeginStep();
    engine_.Put(variable_, data);
    engine_.EndStep();
  }
  void computing(bool begins) override {
    if (begins) {
      adios_.EnterComputationBlock();
    } else {
      adios_.ExitComputationBlock();
    }
  }
  void finish() override { engine_.Close(); }
  void read(int step, double* data) override {
    adios2::IO io = adios_.DeclareIO("input" + std::to_string(reads_++));
    io.SetEngine("BP5");
    adios2::Engine reader = io.Open(path_, adios2::Mode::ReadRandomAccess);
    auto variable = io.InquireVariable<double>("u");
    const auto& part = *field_->pattern.array;
    const auto place = std::find(steps_.begin(), steps_.end(), step) - steps_.begin();
    variable.SetStepSelection({static_cast<std::size_t>(place), 1});
    variable.SetSelection({dims(part.start), dims(part.part)});
    reader.Get(variable, data, adios2::Mode::Sync);
    reader.Close();
  }

 private:
  tailrace::Comm comm_;
  adios2::ADIOS adios_;
  adios2::IO io_;
  adios2::Variable<double> variable_;
  adios2::Engine engine_;
  const StepField* field_ = nullptr;
  std::string path_;
  std::vector<int> steps_;  // in the order of the file
  int runs_ = 0, reads_ = 0;
};

ServerVariant make_variant(const std::string& name, const Parameters& parameters) {
  return {"ADIOS2 BP5, " + name, "peer", false, true,
          [parameters](const Arguments&) { return std::make_unique<Adios2>(parameters); }};
}

}  // namespace

std::vector<ServerVariant> adios2_variants() {
  return {make_variant("synchronous", {}),
          make_variant("synchronous, every rank writes", {{"AggregationType", "EveryoneWrites"}}),
          make_variant("asynchronous, guided", {{"AsyncWrite", "Guided"}}),
          make_variant("asynchronous, naive", {{"AsyncWrite", "Naive"}})};
}

}  // namespace bench

#else

namespace bench {
std::vector<ServerVariant> adios2_variants() { return {}; }
}  // namespace bench

#endif
