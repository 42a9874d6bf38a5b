# Every chore is one command. A virtual environment is made where there is none.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Tests start some hundred processes, each of which would read all sources again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help

.PHONY: help
help: ## list all targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# The environment, with the package in editable form; the core is built separately. Python
# compiles what is imported, a small part of what pip would compile.
EDITABLE := --no-build-isolation --config-settings=wheel.cmake=false --config-settings=wheel.py-api=py3 --config-settings=editable.mode=inplace
$(VENV)/.tools: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --no-compile --group dev --constraint constraints.txt
	$(BIN)/python -m pip install --quiet --no-compile --editable . $(EDITABLE) --constraint constraints.txt
	touch $@

# The core is compiled for the best instructions of this processor; LEVELS="v2;v3" and
# LEVELS=all are for others. Wheels have all of them.
BEST := cd src/rpnb/_core && $(abspath $(BIN))/python -c 'from _processor import *; print(supported_levels()[-1])'
BUILD := build/make
SOURCES := CMakeLists.txt $(shell find cpp -name '*.cpp' -o -name '*.h')
$(STAMP): $(VENV)/.tools $(SOURCES)
	$(BIN)/cmake -S . -B $(BUILD) -G Ninja -DPython_EXECUTABLE=$(abspath $(BIN))/python -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DSKBUILD=OFF -DRPNB_WERROR=ON --log-level=WARNING
	$(BIN)/cmake --build $(BUILD) --target _processor
	$(BIN)/cmake $(BUILD) "-DRPNB_LEVELS=$(or $(LEVELS),$$($(BEST)))" --log-level=WARNING
	$(BIN)/cmake --build $(BUILD)
	touch $@

.PHONY: install
install: $(STAMP) ## create the virtual environment and build the core

.PHONY: run
run: $(STAMP) ## run the paper's evaluation offline, on data that ships with the package
	$(BIN)/rpnb paper --offline --permutations 6 --results results/offline.jsonl

# Tests and the rest side by side; what a part prints comes when it has ended.
.PHONY: test
test: $(STAMP) ## run everything that a change must pass: style, types, layers, tests
	$(MAKE) --jobs=2 --output-sync=target --no-print-directory unit style

.PHONY: style
style: $(STAMP) ## check style, types and layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror $(filter cpp/%,$(SOURCES))

.PHONY: check
check: style ## the same, and run clang-tidy over the C++ sources
	echo $(filter %.cpp,$(SOURCES)) | xargs -n 4 -P 2 $(BIN)/clang-tidy -p build/make --quiet --extra-arg=-Wno-ignored-gch

# Linters of the files that describe the project; they need neither the package nor the core.
PROJECT := $(VENV)/project
$(PROJECT)/.installed: pyproject.toml
	$(PYTHON) -m venv $(PROJECT)
	$(PROJECT)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(PROJECT)/bin/python -m pip install --quiet --group project
	touch $@

SCHEMA := $(PROJECT)/bin/check-jsonschema --quiet --builtin-schema
.PHONY: check-project
check-project: $(PROJECT)/.installed ## check metadata, workflows, templates, recipe and source archive
	$(PROJECT)/bin/validate-pyproject pyproject.toml
	$(SCHEMA) vendor.github-workflows .github/workflows/*.yml
	$(SCHEMA) vendor.github-issue-forms .github/ISSUE_TEMPLATE/*_re*.yml
	$(SCHEMA) vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(SCHEMA) vendor.dependabot .github/dependabot.yml
	$(SCHEMA) vendor.citation-file-format CITATION.cff
	$(PROJECT)/bin/zizmor --offline --quiet .
	$(PROJECT)/bin/pre-commit validate-config
	$(PROJECT)/bin/python tools/release.py check
	$(PROJECT)/bin/python tools/check_recipe.py
	for system in linux macos windows; do $(PROJECT)/bin/cibuildwheel --print-build-identifiers --platform $$system . || exit; done
	rm -rf build/project
	$(PROJECT)/bin/python -m build --sdist --no-isolation --skip-dependency-check --outdir build/project .
	$(PROJECT)/bin/twine check --strict build/project/*
	$(PROJECT)/bin/check-sdist --no-isolation

.PHONY: unit
unit: $(STAMP) ## run the tests, and the examples in the documentation
	$(BIN)/pytest --numprocesses=auto --dist=worksteal

.PHONY: test-capymoa
test-capymoa: $(STAMP) ## install CapyMOA, and test the adapter
	RPNB_CAPYMOA_ENV=$(VENV)/capymoa $(BIN)/pytest tests/adapters/test_capymoa.py

.PHONY: test-spark
test-spark: $(STAMP) ## install Spark, and test clusters, faults and pipelines
	$(BIN)/python tools/extra_environment.py spark $(VENV)/spark -m pytest -W default tests/spark

.PHONY: test-mlflow
test-mlflow: $(STAMP) ## install MLflow, and test models in it
	$(BIN)/python tools/extra_environment.py mlflow $(VENV)/mlflow -m pytest -W default tests/adapters/test_mlflow.py

.PHONY: test-journeys
test-journeys: $(STAMP) ## test a new user's first steps, with the wheel in a fresh environment
	RPNB_JOURNEYS=1 $(BIN)/pytest tests/journeys

# What the service needs is installed beside the packages of the environment.
SERVE := $(VENV)/serve
$(SERVE)/.installed: $(STAMP)
	rm -rf $(SERVE)
	$(BIN)/python -m venv --without-pip $(SERVE)
	$(BIN)/python tools/link_environment.py $(SERVE)
	$(BIN)/python -m pip --python $(SERVE)/bin/python install --quiet --editable '.[serve]' $(EDITABLE) --group serve --constraint constraints.txt
	touch $@

.PHONY: test-serve
test-serve: $(SERVE)/.installed ## test the service, with a real server and a real browser
	$(SERVE)/bin/python -m pytest tests/serve --numprocesses=2 --dist=loadfile

# The core compiled in another way, in an environment that sees the packages of this one.
# $(1) folder, $(2) options of the compiler, $(3) more settings
define instrumented
	rm -rf $(1)
	$(BIN)/python -m venv --without-pip $(1)
	$(BIN)/python tools/link_environment.py $(1)
	$(BIN)/python -m pip --python $(1)/bin/python install --quiet --no-deps --no-build-isolation . --config-settings=build-dir=build/$(notdir $(1)) --config-settings="cmake.define.RPNB_INSTRUMENT=$(2);-O1;-g" --config-settings=cmake.define.RPNB_LEVELS=v3 --config-settings=cmake.define.RPNB_WERROR=ON --config-settings=install.strip=false $(3)
	touch $@
endef

# Every index checked, in C++ too; counts of executed lines on top.
$(VENV)/checked/.installed: $(STAMP)
	$(call instrumented,$(VENV)/checked,-fsanitize=address;-fsanitize=undefined;-fno-sanitize-recover=all;--coverage,--config-settings=cmake.define.RPNB_CHECKED=ON)

$(VENV)/thread/.installed: $(STAMP)
	$(call instrumented,$(VENV)/thread,-fsanitize=thread,)

# Counters of branches are not atomic, and threads may lose some; those of lines in inner loops
# pass 2^32, which gcovr would take for an error.
# Python itself is not instrumented: it leaks on purpose, and the runtime is preloaded. Where
# there is no memory, Python gets none, and says so.
LIBRARY = $(shell $(CXX) -print-file-name=$(1))
ADDRESS = RPNB_LEVEL=v3 LD_PRELOAD="$(call LIBRARY,libasan.so) $(call LIBRARY,libstdc++.so)" ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 $(abspath $(VENV))/checked/bin/python
THREAD = RPNB_LEVEL=v3 LD_PRELOAD="$(call LIBRARY,libtsan.so) $(call LIBRARY,libstdc++.so)" TSAN_OPTIONS=halt_on_error=1 $(VENV)/thread/bin/python
.PHONY: test-sanitizers
test-sanitizers: $(VENV)/checked/.installed $(VENV)/thread/.installed ## test the core under sanitizers of memory, undefined behaviour and threads, with full coverage
	find build/checked -name '*.gcda' -delete
	$(ADDRESS) -m pytest -q -p no:cacheprovider --numprocesses=2 --dist=worksteal --cov=rpnb.core --cov-fail-under=100 tests/core
	$(BIN)/gcovr --root . --filter cpp/ --merge-lines --exclude-throw-branches --exclude-noncode-lines --exclude-function-lines --gcov-ignore-parse-errors=negative_hits.warn_once_per_file --gcov-suspicious-hits-threshold=0 --json build/checked/coverage.json --fail-under-line 100 build/checked
	$(BIN)/python tools/conditions.py build/checked/coverage.json
	cd tools && $(ADDRESS) -m fuzzer --targets model_files --seconds 30 $(if $(SEED),--seed $(SEED))
	$(THREAD) -m pytest -q -p no:cacheprovider tests/core tests/estimators/test_threads.py -k "threads and not daemon"

# make wheels PYTHONS=--all takes every Python that is here
.PHONY: wheels
wheels: $(STAMP) ## build and repair wheels, and use them in fresh environments without a compiler
	$(BIN)/python tools/wheels.py $(PYTHONS)

# make fuzz SECONDS=1200, and SEED=7 for the cases of a seed
.PHONY: fuzz
fuzz: $(STAMP) ## attack everything with random and hostile input; failing cases are kept
	cd tools && $(abspath $(BIN))/python -m fuzzer --seconds $(or $(SECONDS),120) $(if $(SEED),--seed $(SEED))

.PHONY: fuzz-serve
fuzz-serve: $(SERVE)/.installed ## attack a running service, and damage logs
	cd tools && $(abspath $(SERVE))/bin/python -m fuzzer --targets service damaged_logs --seconds $(or $(SECONDS),120) $(if $(SEED),--seed $(SEED))

# make faults KILLS=1000
.PHONY: faults
faults: $(STAMP) ## kill processes while they write files, and fill disks
	cd tools && $(abspath $(BIN))/python -m faults kills $(or $(KILLS),1000) $(if $(SEED),--seed $(SEED))
	cd tools && $(abspath $(BIN))/python -m faults full

.PHONY: fix
fix: $(STAMP) ## format, and fix what ruff can fix
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: docs
docs: $(STAMP) ## build the documentation site in site/; warnings are errors
	$(BIN)/python tools/build_site.py

.PHONY: bench
bench: $(STAMP) ## measure speed against other libraries, and against the unavoidable matrix products
	cd benchmarks && ../$(BIN)/python -m peers
	$(BIN)/python benchmarks/speed.py floor one-row river start

.PHONY: constraints
constraints: $(STAMP) ## update the pinned versions of all dependencies
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra serve --group dev --group serve --no-header --no-annotate --upgrade --output-file constraints.txt

.PHONY: clean
clean: ## remove everything that was built
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage site
