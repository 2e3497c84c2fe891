# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# One entry point for everything: `make setup` once, then `make test`, or one of the parts of it.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# The first of these that can make virtual environments. Debian's was compiled with what was learnt from runs of it,
# and takes a tenth less time than one that pyenv compiles.
PYTHON ?= $(shell for each in /usr/bin/python3.11 python3.11 python3; do \
    if "$$each" -c 'import ensurepip' 2>/dev/null; then command -v "$$each"; break; fi; done)
PYTEST_ARGS ?=
BIN := .venv/bin
# Tests wait for servers much of the time, so that more run at once than a small machine has cores; a worker takes
# 2 GB at most. Those of one file stay together (and those with one Spark, see tests/conftest.py), and files with the
# longest tests come first.
WORKERS ?= 4
# Releases of ansible-core for `make compat`.
CORES ?= 2.18 2.19 2.20 2.21
PYTEST := $(BIN)/pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder
COLLECTION := build/collections/ansible_collections/olap/partmove
SPARK_PACKAGE := build/spark/olap_partmove
# What `make setup` installs, or else one of its own.
GALAXY := $(or $(wildcard $(BIN)/ansible-galaxy),build/galaxy/bin/ansible-galaxy)
TRACKED := $(wildcard $(shell git ls-files 2>/dev/null))

export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/build/collections
# Checks look at this repository alone: no Galaxy server is asked for anything.
export ANSIBLE_LINT_SKIP_SCHEMA_UPDATE := 1
# Hundreds of processes import the same files: each would compile them where the environment forbids to keep that.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help
help: ## Show what can be made
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

.PHONY: setup
setup: build/host.stamp build/venv.stamp $(COLLECTION) $(SPARK_PACKAGE) ## Prepare this machine and .venv

.PHONY: test
test: ## Run every check and every test
	@$(MAKE) --no-print-directory --jobs 3 --output-sync=line lint staging-base compat-venvs \
	    build/classes.stamp zookeepers compiled
	@$(MAKE) --no-print-directory --jobs 2 every-test sanity-beside

.PHONY: every-test
every-test: setup
	@$(PYTEST) $(PYTEST_ARGS)

# One thing after the other for minutes, of which no test needs any: a core would have nothing to do meanwhile.
.PHONY: sanity-beside
sanity-beside:
	@mkdir -p build
	@$(MAKE) --no-print-directory sanity > build/sanity.log 2>&1 || { cat build/sanity.log; exit 1; }
	@grep 'NOT RUN' build/sanity.log || true

# Else all workers would compile the same files at the same moment. What is wrong with one the tests say.
.PHONY: compiled
compiled: setup
	@$(BIN)/pytest --collect-only --quiet --quiet > build/collected.log 2>&1 || true

.PHONY: lint
lint: setup ## Check style, types, playbooks and roles
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/antsibull-changelog lint
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/ansible-lint --offline --profile production

.PHONY: sanity
sanity: build/sanity.stamp ## Run ansible-test sanity on the tracked files

.PHONY: compat
compat: export COMPAT_CORES = $(CORES)
compat: setup compat-venvs ## Test with all releases of ansible-core, or CORES="2.18 2.21"
	@$(BIN)/pytest tests/compat/test_cores.py --numprocesses 2 $(PYTEST_ARGS)

.PHONY: pythons
pythons: setup compat-venvs ## Test what runs on managed hosts with every Python at hand
	@$(BIN)/pytest tests/compat/test_pythons.py --numprocesses 2 $(PYTEST_ARGS)

.PHONY: fuzz
fuzz: setup ## Hand bad input to every parser, or SEED=1 INPUTS=1000 ONLY="log entry"
	@PYTHONPATH=build/collections:build/spark:roles/partition_classify/files:tests \
	    SEED="$(SEED)" INPUTS="$(INPUTS)" FIRST="$(FIRST)" ONLY="$(ONLY)" $(BIN)/python -m fuzz

# One that is ready is left as it is.
.PHONY: compat-venvs
compat-venvs: build/venv.stamp
	@PYTHONPATH=tests $(BIN)/python -m compat

# What is there is left as it is. What cannot be had is said, here and by the tests that need it.
.PHONY: zookeepers
zookeepers: build/venv.stamp ## Get older releases of ZooKeeper, whose files tests read
	@PYTHONPATH=tests $(BIN)/python -m support.servers.zookeeper_releases

.PHONY: docs-check
docs-check: setup ## Show that ansible-doc can read every plugin and role
	@$(BIN)/python tests/check_docs.py

.PHONY: mutants
mutants: setup ## Make the protocol unsafe in many ways, and see that tests notice each
	@PYTHONPATH=build/collections:tests $(BIN)/python -m mutants $(ARGS)

.PHONY: demo-twin
demo-twin: setup ## Classify and move partitions of a modern ClickHouse without a patch
	PYTHONPATH=build/collections:tests $(BIN)/python -m demo.twin

.PHONY: demo
demo: setup ## Classify and move partitions of real servers on this machine
	PYTHONPATH=build/collections:tests $(BIN)/python -m demo.demo

.PHONY: sandbox
sandbox: setup ## Start servers to try the commands of docs/quickstart.md on, until Ctrl-C
	@PYTHONPATH=build/collections:tests $(BIN)/python -m demo.sandbox

.PHONY: record
record: setup ## Record the znodes that the demo uses where there is no ClickHouse
	PYTHONPATH=build/collections:tests $(BIN)/python -m demo.record

.PHONY: screenshots
screenshots: setup ## Take the pictures of the report in docs/images
	@PYTHONPATH=build/collections:build/spark:roles/partition_classify/files:tests $(BIN)/python -m demo.screenshots

# FAULTS: how many; SEED: which; ONLY: the numbers to carry out again, such as 17,20-29.
.PHONY: faults
faults: setup ## Break real servers at every step of a move, or FAULTS=300 SEED=2
	@PYTHONPATH=build/collections:tests $(BIN)/python -m faults $(if $(FAULTS),--faults $(FAULTS)) \
	    $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY)) $(ARGS)

# The limit of a test is one for those that every run has.
.PHONY: faults-twin
faults-twin: setup ## Kill runs and servers while twins are moved: PARTITIONS=1000
	@PARTITIONS="$(or $(PARTITIONS),1000)" $(BIN)/pytest tests/integration/test_twin_shards.py --timeout 0 \
	    $(PYTEST_ARGS)

.PHONY: explore
explore: export SEED ?=
explore: export STEPS ?=
explore: setup ## Explore faults while partitions move: STEPS=1000000, or play SEED=7 again
	@PYTHONPATH=build/collections:tests $(BIN)/python -m explore

.PHONY: explore-twin
explore-twin: export RUNS ?= 60000
explore-twin: setup ## Explore what may happen between a table and its cold twin: RUNS=60000
	PYTHONPATH=build/collections:tests $(BIN)/pytest -q -n auto \
	    tests/unit/plugins/module_utils/_partmove/twin/test_motion_many_acts.py

.PHONY: bench
bench: setup ## Measure the move, the audit and the classification on this machine
	PYTHONPATH=build/collections:build/spark:roles/partition_classify/files:tests $(BIN)/python tests/benchmark/bench.py

.PHONY: bench-twin
bench-twin: setup ## Measure moves between a table and its cold twin: PARTITIONS=200
	PYTHONPATH=build/collections:tests $(BIN)/python tests/benchmark/bench_twin.py

.PHONY: bench-daily
bench-daily: setup ## Measure the daily run: SHARD_PATHS=1000 LATENCY_MS=5
	PYTHONPATH=build/collections:tests $(BIN)/python tests/benchmark/bench_daily.py

.PHONY: bench-effect
bench-effect: setup ## Measure an ensemble before and after a move: ZNODES=1000000
	PYTHONPATH=build/collections:tests $(BIN)/python tests/benchmark/bench_effect.py

.PHONY: bench-growth
bench-growth: setup ## Measure how a move grows: MOST_PARTS=1000000 MOST_SHARD_PATHS=10000
	PYTHONPATH=build/collections:tests $(BIN)/python tests/benchmark/bench_growth.py

.PHONY: bench-modern
bench-modern: setup ## Measure what the servers of a modern ClickHouse cost that tests start
	PYTHONPATH=build/collections:tests $(BIN)/python tests/benchmark/bench_modern.py

.PHONY: bench-scale
bench-scale: setup ## Classify more parts than fit into memory, 50 million or ROWS=5000000
	@PYTHONPATH=build/collections:build/spark:roles/partition_classify/files:tests ROWS="$(ROWS)" \
	    $(BIN)/python tests/benchmark/bench_scale.py

# Else the first test that boots a host would build the tree of all hosts, and others would wait for it. Without
# .venv, as it is begun beside that.
.PHONY: staging-base
staging-base: build/host.stamp
	@PYTHONPATH=tests $(PYTHON) -m staging.ready

.PHONY: staging
staging: setup ## Test the roles on hosts that really boot
	@$(PYTEST) tests/integration/test_staging.py tests/integration/test_scenario_*.py $(PYTEST_ARGS)

.PHONY: molecule
molecule: setup ## Run molecule, such as ARGS="converge -s zookeeper"
	@PATH="$(CURDIR)/$(BIN):$$PATH" ANSIBLE_HOME=$(CURDIR)/build/staging/home $(BIN)/molecule $(ARGS)

# It needs ansible-core alone, and none of what tests do.
.PHONY: build
build: $(GALAXY) ## Build the archive for ansible-galaxy in build/dist
	@$(GALAXY) collection build --force --output-path build/dist

# In a copy, as a release takes the fragments away.
.PHONY: changelog
changelog: export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/build/changelog
changelog: setup ## Write CHANGELOG.md as it would be if this were released now
	@rm -rf build/changelog
	@mkdir -p build/changelog/ansible_collections/olap/partmove
	@git ls-files -z | xargs -0 cp --parents --target-directory build/changelog/ansible_collections/olap/partmove
	@cd build/changelog/ansible_collections/olap/partmove && git init --quiet && \
	    PATH="$(CURDIR)/$(BIN):$$PATH" antsibull-changelog release
	@cp build/changelog/ansible_collections/olap/partmove/CHANGELOG.md .

.PHONY: clean
clean: ## Remove all that was made, except .venv
	rm -rf build .ansible .hypothesis .mypy_cache .pytest_cache .ruff_cache artifacts spark-warehouse \
	    metastore_db derby.log tests/output
	find . -path ./.venv -prune -o -name __pycache__ -type d -print0 | xargs -0 rm -rf

define PYTHON_IS_RECENT
@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else \
    "Python 3.11 or later is needed: make $(or $(MAKECMDGOALS),setup) PYTHON=/path/to/python3.11")'
endef

build/galaxy/bin/ansible-galaxy:
	@mkdir -p build
	$(PYTHON_IS_RECENT)
	@$(PYTHON) -m venv build/galaxy
	@build/galaxy/bin/pip install --quiet --disable-pip-version-check '$(shell grep ansible-core requirements.txt)'

build/host.stamp: tests/setup_host.sh
	@mkdir -p build
	tests/setup_host.sh
	@touch $@

build/venv.stamp: requirements.txt requirements-dev.txt | build/host.stamp
	@mkdir -p build
	$(PYTHON_IS_RECENT)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -r requirements-dev.txt
	@touch $@

# Ansible and Python find the collection only below a folder ansible_collections/<namespace>/<name>.
$(COLLECTION):
	@mkdir -p $(@D)
	ln -sfn ../../../.. $@

# The Spark job imports the same code as the modules, under the name its zip archive gives it.
$(SPARK_PACKAGE):
	@mkdir -p $(@D)
	ln -sfn ../../plugins/module_utils $@

# With these Spark and ZooKeeper start in half the time, which tests do often.
build/classes.stamp: build/venv.stamp | setup
	@echo Make the archives of classes
	@PYTHONPATH=build/collections:tests:roles/partition_classify/files $(BIN)/python -m support.servers.class_archives
	@touch $@

# The stamp is as old as the start of the run: what changes meanwhile is checked the next time.
build/sanity.stamp: build/host.stamp build/venv.stamp $(TRACKED)
	@touch $@.new
	$(BIN)/python tests/run_sanity.py
	@mv $@.new $@
