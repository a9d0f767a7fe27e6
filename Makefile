# SPDX-License-Identifier: BSD-3-Clause
# Tailrace: `make help` lists the commands. Each does its own set-up, says what it installs, and does
# only what is missing when it is run again.
#
#   PRESET=release|debug|asan|ci   CMake preset (default: release; ci where CI is set)
#   JOBS=N                         compile jobs (default: all processors)
#   MKL=1                          also fetch MKL (large) as an FFT kernel
#   DUCC=0                         build without the ducc0 FFT kernel (then with FFTW)
#   FFTW=1                         link FFTW as an FFT kernel (GPL); tests and benchmarks do
#   TAILRACE_SOAK_S=N              seconds of each random test in `make soak` (default: 3600) and
#                                  in `make sanitizers` (default: 10)
#   TAILRACE_SEED=N                where its random problems start, to repeat a run
#   TAILRACE_HANG_S=N              seconds after which a random problem hangs (default: 120), or a
#                                  failing call of File (60)
#   BENCHES="fft step ..."         benchmarks of `make bench`
#   FLUIDSIM_PYTHON=/path/python   a Python that has fluidsim, to compare a step with
#   PREFIX=DIR                     where `make install` puts things (default: ~/tailrace)
#   MODULEFILES=DIR                where `make module` puts modulefiles (default: in PREFIX)
#   NEEDS="gcc openmpi ..."        modules that they load first
#   PYTHON=/usr/bin/python3        the Python (3.11 or newer) that .venv is made with

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PRESET ?= $(if $(CI),ci,release)
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
MKL ?= 0
DUCC ?= 1
FFTW ?= 0
BENCHES ?= fft step output servers io exchange allreduce memory-bandwidth memory
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)

VENV := .venv
PY := $(VENV)/bin/python
STAMPS := $(VENV)/stamps
DUCC_DIR := build/deps/ducc0
# What `build` builds: library, programs and examples. Tests and benches are built when they are run,
# and demos build only the programs that they run.
TARGETS = all
DEMO_TARGETS = tailrace-server tailrace-list tailrace-verify
# Shell text: asked after the kernels were fetched, as fetching may fail.
CMAKE_OPTIONS = \
  -DTAILRACE_DUCC_DIR=$$([ $(DUCC) = 1 ] && [ -e $(DUCC_DIR)/src/ducc0 ] && echo $(CURDIR)/$(DUCC_DIR)) \
  $$([ $(FFTW) = 1 ] || ! [ $(DUCC) = 1 -a -e $(DUCC_DIR)/src/ducc0 ] && echo -DTAILRACE_FFTW=ON) \
  -DTAILRACE_MKL_DIR=$$([ $(MKL) = 1 ] && echo $(CURDIR)/$(VENV)) \
  -DPython_EXECUTABLE=$(CURDIR)/$(PY)

# MPI in tests and benchmarks: more ranks than processors, and root in a container, are fine.
export OMPI_ALLOW_RUN_AS_ROOT = 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1
export OMPI_MCA_rmaps_base_oversubscribe = 1
export OMPI_MCA_mpi_yield_when_idle = 1
export OMPI_MCA_hwloc_base_binding_policy = none
export OMP_WAIT_POLICY = passive
export PIP_DISABLE_PIP_VERSION_CHECK = 1
TEST_ENV := TAILRACE_BIN_DIR=$(CURDIR)/build/$(PRESET)

.PHONY: help build install demo demo-helium demo-groundwater python module deb wheel test-wheel test verification cluster sanitizers soak check bench reference docs clean distclean system

help:  ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' Makefile

system:  # compilers and libraries (Debian packages as root; elsewhere advice)
	@tools/setup $(SETUP)

$(PY):
	@$(MAKE) system
	@echo "tailrace: making the Python environment $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "tailrace: $(PYTHON) is too old; name a Python >= 3.11: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(STAMPS)/venv: pyproject.toml | $(PY)
	@mkdir -p $(STAMPS)
	@echo "tailrace: installing Python packages into $(VENV): typer, rich, numpy, matplotlib, jinja2, h5py"
	@$(PY) -m pip install -q --config-settings=wheel.cmake=false -e .
	@touch $@

$(STAMPS)/venv-%: pyproject.toml $(STAMPS)/venv
	@echo "tailrace: installing the Python packages of the extra [$*]"
	@$(PY) -m pip install -q --config-settings=wheel.cmake=false -e '.[$*]'
	@touch $@

$(DUCC_DIR)/src/ducc0/fft/fft.h: | $(PY)
	@tools/fetch_ducc $(PY) $(DUCC_DIR)

$(STAMPS)/mkl: | $(PY)
	@mkdir -p $(STAMPS)
	@echo "tailrace: installing mkl-devel into $(VENV)"
	@$(PY) -m pip install -q mkl-devel
	@touch $@

build: system $(STAMPS)/venv $(if $(filter 1,$(DUCC)),$(DUCC_DIR)/src/ducc0/fft/fft.h) $(if $(filter 1,$(MKL)),$(STAMPS)/mkl)  ## Build library, programs and the command .venv/bin/tailrace
	@echo "tailrace: building (preset $(PRESET), $(JOBS) jobs)"
	@mkdir -p build
	@cmake --preset $(PRESET) $(CMAKE_OPTIONS) >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build build/$(PRESET) -j $(JOBS) --target $(TARGETS)

demo: TARGETS = tailrace-turbulence $(DEMO_TARGETS)
demo: build  ## Taylor-Green with each kind of output, and the report (5 minutes with the build, then 1 to 2; 50 MB)
	@$(TEST_ENV) $(VENV)/bin/tailrace demo

demo-helium: TARGETS = tailrace-helium $(DEMO_TARGETS)
demo-helium: build  ## Helium in a laser pulse, both gauges, and what output costs (two minutes after the build)
	@$(TEST_ENV) $(VENV)/bin/python -m tailrace.apps.helium.demo

demo-groundwater: TARGETS = tailrace-groundwater $(DEMO_TARGETS)
demo-groundwater: build  ## Uranium and 14 more species in heterogeneous ground, and where the time went (a minute after the build)
	@$(TEST_ENV) $(VENV)/bin/python -m tailrace run groundwater/uranium -n 2 --run-dir build/demo-groundwater --overwrite
	@$(TEST_ENV) $(VENV)/bin/python -m tailrace report build/demo-groundwater

python: TARGETS = all bindings/python/all
python: $(STAMPS)/venv-python build  ## Build what `import tailrace` needs (docs/bindings.md)

PREFIX ?= $(HOME)/tailrace
install: build  ## Install headers, libraries and programs in PREFIX (default: ~/tailrace)
	@cmake --install build/$(PRESET) --prefix "$(abspath $(PREFIX))" >build/install.log || { tail -n 5 build/install.log; exit 1; }
	@echo "tailrace: cmake -DCMAKE_PREFIX_PATH=$(abspath $(PREFIX)) ... finds it (docs/start.md)"

MODULEFILES ?= $(PREFIX)/share/modulefiles
module: TARGETS = all bindings/python/all
module: $(STAMPS)/venv-python build  ## Install for a centre: library, command, Python and modulefiles (docs/how)
	@tools/install_module build/$(PRESET) "$(abspath $(PREFIX))" "$(abspath $(MODULEFILES))" $(NEEDS)

deb: PRESET = deb
deb: build  ## A package for Debian and its relatives, in build/deb (processors from 2013 on: x86-64-v3)
	@cd build/deb && cpack >package.log || { cat package.log; exit 1; }
	@echo "tailrace: apt install ./$$(ls -t build/deb/tailrace_*.deb | head -1)"

wheel: $(PY) $(DUCC_DIR)/src/ducc0/fft/fft.h  ## dist/tailrace-*.whl, for Open MPI, MPICH and MPI 5's ABI (docs/start.md)
	@$(PY) tools/make_wheel.py --jobs $(JOBS)

test-wheel: $(PY)  ## The wheel in dist/, tried in empty environments with each MPI library that is here
	@$(PY) tools/test_wheel.py

test verification soak: TARGETS = all tests/all bench/all bindings/python/all
test verification soak: SETUP = --test
test verification soak: FFTW = 1
# Tests wait more than they compute, so there are two for each processor at a time; a program that
# opens Open MPI's other layers of messages before it takes ob1 starts in three times the time.
TEST_PY = OMPI_MCA_pml=ob1 $(TEST_ENV) $(PY) -m pytest -q -m "not slow and not cluster"
test: $(STAMPS)/venv-test build  ## All tests but the slow ones (ctest at 1 to 4 ranks, then pytest)
	@status=0; jobs=$$((2 * $(JOBS))); results=$(CURDIR)/build/$(PRESET)/ctest.xml; \
	ctest --preset $(PRESET) -j $$jobs --output-junit $$results || status=1; \
	tools/slowest.py build/$(PRESET); \
	tests/skips.py $$results || status=1; \
	TAILRACE_TEST_SKIPS=check $(TEST_PY) -n $$jobs --durations=10 --durations-min=1 || status=1; \
	if [ $$status -ne 0 ]; then echo "tailrace: tests FAILED (see above)" >&2; fi; exit $$status

verification: PRESET = release
verification: build $(STAMPS)/venv-test  ## The slow comparisons with published and exact solutions
	@ctest --preset verification
	@$(TEST_ENV) $(PY) -m pytest -q -m slow || [ $$? -eq 5 ]
	@$(MAKE) cluster PRESET=$(PRESET)
	@$(MAKE) sanitizers
	@$(MAKE) wheel test-wheel

cluster: TARGETS = all tests/all bindings/python/all
cluster: SETUP = --cluster
cluster: FFTW = 1
cluster: build $(STAMPS)/venv-test $(STAMPS)/venv-cluster  ## Tests on the nodes of a Slurm cluster of namespaces (root)
	@status=0; results=$(CURDIR)/build/$(PRESET)/cluster.xml; \
	ctest --preset $(PRESET) -L '^cluster$$' -j $(JOBS) --output-junit $$results || status=1; \
	tests/skips.py $$results || status=1; \
	TAILRACE_TEST_SKIPS=check $(TEST_ENV) $(PY) -m pytest -q -m "cluster and not slow" tests/cluster || status=1; \
	if [ $$status -ne 0 ]; then echo "tailrace: tests FAILED (see above)" >&2; fi; exit $$status

# On 1 and 3 ranks, some on 2: under tsan what has threads; under asan (addresses, undefined
# behaviour) the random tests, too, which go on for some seconds each, from a fixed seed. Without
# ducc0: its templates compile for a quarter of an hour with sanitizers.
SANITIZED_tsan := session intake transports node_transport node_sides transports_thread \
  exchange_threads late_rank formats output output_strategies output_faults output_random
SANITIZED_asan := $(SANITIZED_tsan) random_exchange random_blocks reduction_random file_random damage \
  strided_copy fft_transform_random core layout plan choose_copies exchange typed_exchange node_array \
  agreement order combine reduction reduction_dots c_face c_sweep dense sparse dist_matrix krylov
sanitizers: export TAILRACE_SOAK_S ?= 10
sanitizers: export TAILRACE_SEED ?= 1
sanitizers: system  ## Tests under the address, undefined and thread sanitizers (an hour with the build)
	@status=0; \
	for preset in asan tsan; do $(MAKE) sanitizers-$$preset || status=1; done; \
	if [ $$status -eq 0 ]; then echo "tailrace: sanitizers passed: no report, no failure"; \
	else echo "tailrace: sanitizers FAILED (see above)"; fi; exit $$status

sanitizers-%:
	@mkdir -p build
	@cmake --preset $* -DTAILRACE_DUCC_DIR= -DTAILRACE_MKL_DIR= >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build build/$* -j $(JOBS) --target tailrace-server $(addprefix test_,$(SANITIZED_$*))
	@ctest --preset $* -R '^($(subst $() $(),|,$(strip $(SANITIZED_$*))))\.[123]$$'

soak: PRESET = release
soak: export TAILRACE_SOAK_S ?= 3600
# What runs over is stopped ten minutes later. (These tests have no TIMEOUT of their own; one of
# them has two random tests.)
soak: build  ## Random tests for an hour each (TAILRACE_SOAK_S=60: a minute; TAILRACE_SEED=N repeats)
	@ctest --preset soak --timeout $$((2 * TAILRACE_SOAK_S + 600))

check: $(STAMPS)/venv $(STAMPS)/venv-test $(STAMPS)/venv-check  ## Formatting and static checks (FIX=1 formats, TIDY=1 adds clang-tidy)
	@tools/setup --check
	@$(if $(filter 1,$(TIDY)),tools/setup --tidy && $(MAKE) build)
	@tools/check $(if $(filter 1,$(FIX)),--fix) $(if $(filter 1,$(TIDY)),--tidy)

bench:  ## Benchmarks and studies; figures in build/bench-results (BENCHES="fft step" chooses)
	@tools/setup --bench
	@$(MAKE) build FFTW=1 TARGETS="all bench/all bench_slow"
	@mkdir -p build/bench-results
	@for name in $(BENCHES); do \
	  $(TEST_ENV) $(VENV)/bin/tailrace bench $$name --json build/bench-results/$$name.json \
	    $(if $(FLUIDSIM_PYTHON),$$([ $$name = step ] && echo --fluidsim-python $(FLUIDSIM_PYTHON))); \
	done

reference:  ## The reference of the C++ and C headers by Doxygen, in build/reference/html
	@tools/setup --reference
	@mkdir -p build
	@doxygen docs/Doxyfile
	@echo "tailrace: open build/reference/html/index.html"

docs: $(STAMPS)/venv-docs  ## The documents as a site with search, in build/site
	@$(PY) -m mkdocs build --strict --quiet
	@echo "tailrace: open build/site/index.html"

clean:  ## Remove what the compilers made
	@rm -rf build/release build/debug build/asan build/tsan build/ci

distclean: clean  ## Remove everything that was made or fetched
	@rm -rf build dist $(VENV)
