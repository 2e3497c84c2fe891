# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# `make help` lists the targets. `make setup` once, then `make test` or one of its parts.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# The first Python here that can make virtual environments. Debian's is compiled with profiles: tests take a tenth less
# time than with a Python of pyenv.
PYTHON ?= $(shell for each in /usr/bin/python3.11 python3.11 python3; do \
    if "$$each" -c 'import ensurepip' 2>/dev/null; then command -v "$$each"; break; fi; done)
PYTEST_ARGS ?=
BIN := .venv/bin
# Tests wait for servers much of the time, so a small machine can have more workers than cores. A worker takes 2 GB at
# most. The tests of a file run on one worker (and those with one Spark, see tests/support/choice.py), the longest files first.
WORKERS ?= 4
# Releases of ansible-core for `make compat`.
CORES ?= 2.18 2.19 2.20 2.21
# What `make keeper` runs with the stand-in for ClickHouse Keeper.
KEEPER_TESTS := tests/integration/modules $(wildcard tests/integration/test_twin*.py tests/integration/test_table_*.py \
    tests/integration/test_*_faults.py) tests/integration/test_reload.py tests/integration/test_modern_trees.py \
    tests/integration/test_users.py tests/integration/test_watch.py
PYTEST := $(BIN)/pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder
COLLECTION := build/collections/ansible_collections/olap/partmove
SPARK_PACKAGE := build/spark/olap_partmove
# The programs of requirements-checks.txt.
CHECKS := build/checks/bin
# The program that `make setup` installs, or else one that is installed for `make build` alone.
GALAXY := $(or $(wildcard $(BIN)/ansible-galaxy),build/galaxy/bin/ansible-galaxy)
TRACKED := $(wildcard $(shell git ls-files 2>/dev/null))
READY := build/venv.stamp $(COLLECTION) $(SPARK_PACKAGE)
# Run a program of tests/, the second one with what the Spark job imports.
RUN := PYTHONPATH=build/collections:tests $(BIN)/python
RUN_SPARK := PYTHONPATH=build/collections:build/spark:roles/partition_classify/files:tests $(BIN)/python

# A key that stands twice in a fragment: antsibull-changelog takes the second one, and ansible-lint skips the folder.
YAMLLINT := {extends: default, rules: {line-length: disable}}

# What `make bench WHAT=…` and the like can do. The first one is the default.
KINDS_bench := patched twin servers root reading daily fleet inserts audit effect growth modern scale keeper start
KINDS_compat := cores pythons
KINDS_demo := patched twin record
KINDS_explore := patched twin
KINDS_faults := patched twin readers
KINDS_mutants := written generated
kind = $(or $(filter $(WHAT),$(KINDS_$(1))),$(firstword $(KINDS_$(1))))
# Here, so that nothing is installed before a wrong WHAT is reported.
check_kind = $(if $(WHAT),$(if $(KINDS_$(1)),$(if $(filter $(WHAT),$(KINDS_$(1))),,$(error \
    make $(1) WHAT=$(WHAT): unknown. WHAT is one of: $(KINDS_$(1))))))
$(foreach goal,$(MAKECMDGOALS),$(call check_kind,$(goal)))

export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/build/collections
# Checks read this repository alone, and ask no Galaxy server.
export ANSIBLE_LINT_SKIP_SCHEMA_UPDATE := 1
# Hundreds of processes import the same files. Each would compile them if the environment forbade bytecode files.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 13

.PHONY: setup
setup: build/host-tests.stamp $(READY) ## Install what tests need, and prepare .venv

.PHONY: test
test: ## Run every check and the tests, and with WHOLE=1 all cases of all tests
	@$(MAKE) --no-print-directory --jobs 3 --output-sync=line lint $(if $(WHOLE),staging-base compat-venvs) zookeepers \
	    servers compiled build/classes.stamp
	@$(MAKE) --no-print-directory --jobs 2 every-test sanity

.PHONY: lint
# ansible-lint runs below, so it need not run once more in the importer.
lint: export GALAXY_IMPORTER_RUN_ANSIBLE_LINT := false
lint: setup importer ## Check style, types, links, documentation, playbooks and roles
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
# What the Spark job uses has to be in the oldest Python that PySpark supports.
	$(BIN)/mypy --python-version 3.10 roles/partition_classify/files
	$(BIN)/antsibull-changelog lint
	$(BIN)/yamllint --strict --config-data '$(YAMLLINT)' changelogs/config.yaml changelogs/fragments
	$(BIN)/python tests/check_links.py
	$(BIN)/python tests/check_docs.py
	$(CHECKS)/reuse lint --quiet || $(CHECKS)/reuse lint
	$(CHECKS)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(CHECKS)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(CHECKS)/zizmor --offline --quiet .github
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/ansible-lint --offline --profile production

.PHONY: sanity
sanity: build/sanity.stamp ## Run ansible-test sanity on the tracked files
	@grep -sE 'NOT RUN|CPU-s' build/sanity.log || true

.PHONY: compat
compat: export COMPAT_CORES = $(if $(filter cores,$(call kind,compat)),$(CORES))
compat: export COMPAT_PYTHONS = all
compat: export WHOLE = 1
compat: setup compat-venvs ## Test with other releases of ansible-core, CORES="2.18 2.21", or WHAT=pythons
	@$(BIN)/pytest tests/compat/test_$(call kind,compat).py --numprocesses 2 $(PYTEST_ARGS)

.PHONY: keeper
keeper: export ENSEMBLES ?= keeper
keeper: export WHOLE = 1
keeper: setup servers ## Test twins and faults on a stand-in for ClickHouse Keeper: ENSEMBLES=old_keeper FAULTS=60
	@$(PYTEST) $(KEEPER_TESTS) $(PYTEST_ARGS)
	@$(RUN) -m faults --faults "$(or $(FAULTS),60)"

.PHONY: fuzz
fuzz: setup ## Hand bad input to every parser: SEED=1 INPUTS=1000 ONLY="log entry"
	@SEED="$(SEED)" INPUTS="$(INPUTS)" FIRST="$(FIRST)" ONLY="$(ONLY)" $(RUN_SPARK) -m fuzz

.PHONY: mutants
mutants: setup ## Make the protocol unsafe in many ways, and require that a test fails for each: WHAT=written|generated
	@$(RUN) -m mutants $(if $(filter generated,$(call kind,mutants)),--generated) $(ARGS)

# FAULTS: the number of faults; SEED: selects them; ONLY: the numbers of faults to repeat, such as 17,20-29.
# The time of the test of twins grows with PARTITIONS: it has no limit. READS are of each version, RUNGS the versions.
.PHONY: faults
faults: setup ## Break real servers while partitions move: FAULTS=300 SEED=2, WHAT=twin PARTITIONS=1000, WHAT=readers READS=50000
ifeq ($(call kind,faults),twin)
	@WHOLE=1 PARTITIONS="$(or $(PARTITIONS),1000)" $(BIN)/pytest tests/integration/test_twin_shards.py --timeout 0 \
	    $(PYTEST_ARGS)
else ifeq ($(call kind,faults),readers)
	@$(RUN) -m seen_once $(if $(READS),--reads $(READS)) $(if $(SEED),--seed $(SEED)) \
	    $(if $(RUNGS),--versions "$(RUNGS)") $(ARGS)
else
	@$(RUN) -m faults $(if $(FAULTS),--faults $(FAULTS)) $(if $(SEED),--seed $(SEED)) \
	    $(if $(ONLY),--only $(ONLY)) $(ARGS)
endif

.PHONY: explore
explore: setup ## Explore random schedules of faults: STEPS=1000000 SEED=7, or WHAT=twin RUNS=60000
ifeq ($(call kind,explore),twin)
	RUNS="$(or $(RUNS),60000)" $(RUN) -m pytest -q -n auto \
	    tests/unit/plugins/module_utils/_partmove/twin/move/test_group_move_many_acts.py \
	    tests/unit/plugins/module_utils/_partmove/twin/readers/test_recorded_readers_many_acts.py
else
	@SEED="$(SEED)" STEPS="$(STEPS)" $(RUN) -m explore
endif

# Versions that are not here are downloaded, 110 to 180 MB each.
.PHONY: ladder
ladder: setup ## Run the twin tests on servers of every version: RUNGS="22.12 23.6 23.10 24.5 24.8 25.5 25.8 26.9"
	@$(RUN) -m support.servers.ladder.table $(RUNGS)

# The head of each file in tests/benchmark/ lists its variables: RUNS, PARTITIONS, SHARD_PATHS, ROWS, …
.PHONY: bench
bench: setup ## Measure on this machine: WHAT=patched|twin|servers|root|reading|daily|fleet|inserts|audit|effect|growth|modern|scale|keeper|start
	$(RUN_SPARK) tests/benchmark/bench_$(call kind,bench).py

# WHAT=record makes tests/demo/recorded anew: the znodes that the demo shows where it has no servers.
.PHONY: demo
demo: $(if $(filter twin,$(call kind,demo)),build/host-twin.stamp,build/host-patched.stamp)
demo: $(READY) ## Classify and move partitions of real servers on this machine: WHAT=patched|twin
	$(RUN) -m demo.$(call kind,demo)

.PHONY: sandbox
sandbox: build/host-patched.stamp $(READY) ## Start servers for the commands of docs/quickstart.md, until Ctrl-C
	@$(RUN) -m demo.sandbox

.PHONY: screenshots
screenshots: setup ## Take the pictures of the report in docs/images
	@$(RUN_SPARK) -m demo.screenshots

.PHONY: staging
staging: export WHOLE = 1
staging: setup ## Test the roles on hosts that really boot, or only with SCENARIO=day
	@$(PYTEST) $(if $(SCENARIO),,tests/integration/test_staging.py) \
	    $(or $(and $(SCENARIO),tests/integration/test_scenario_$(SCENARIO).py),tests/integration/test_scenario_*.py) $(PYTEST_ARGS)

.PHONY: molecule
molecule: setup ## Run molecule, such as ARGS="converge -s zookeeper"
	@PATH="$(CURDIR)/$(BIN):$$PATH" ANSIBLE_HOME=$(CURDIR)/build/staging/home $(BIN)/molecule $(ARGS)

# Needs ansible-core alone: neither servers nor the packages for tests.
.PHONY: build
build: $(GALAXY) ## Build the archive for ansible-galaxy in build/dist
	@$(GALAXY) collection build --force --output-path build/dist

.PHONY: generated
generated: setup ## Write the files that are made from the code: README.md of each role, docs/reference/schemas
	@$(BIN)/python tests/role_readmes.py
	@$(RUN_SPARK) -m support.schemas

# In a copy, because a release deletes the fragments.
.PHONY: changelog
changelog: export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/build/changelog
changelog: setup ## Write CHANGELOG.md as it would be if this were released now
	@rm -rf build/changelog
	@mkdir -p build/changelog/ansible_collections/olap/partmove
	@git ls-files -z | xargs -0 cp --parents --target-directory build/changelog/ansible_collections/olap/partmove
	@cd build/changelog/ansible_collections/olap/partmove && git init --quiet && \
	    PATH="$(CURDIR)/$(BIN):$$PATH" antsibull-changelog release
	@cp build/changelog/ansible_collections/olap/partmove/CHANGELOG.md .

# What Galaxy does with an archive that is published there. It writes its result to the working folder.
.PHONY: importer
importer: build/checks.stamp build ## Check the archive as Galaxy does when it is published
	@cd build && PATH="$(CURDIR)/$(CHECKS):$$PATH" checks/bin/python -m galaxy_importer.main \
	    dist/olap-partmove-$(shell sed -n 's/^version: //p' galaxy.yml).tar.gz > importer.log 2>&1 || \
	    { cat importer.log; exit 1; }
	@tail -1 build/importer.log

build/checks.stamp: requirements-checks.txt
	@mkdir -p build
	$(PYTHON_IS_RECENT)
	@$(PYTHON) -m venv build/checks
	@$(CHECKS)/pip install --quiet --disable-pip-version-check --no-compile -r requirements-checks.txt
	@touch $@

.PHONY: site
site: setup build/site.stamp ## Build the documentation as HTML, in build/site/html
	@$(BIN)/python tests/docs_site.py

build/site.stamp: requirements-site.txt
	@mkdir -p build
	$(PYTHON_IS_RECENT)
	@$(PYTHON) -m venv build/site/venv
	@build/site/venv/bin/pip install --quiet --disable-pip-version-check --no-compile -r requirements-site.txt
	@touch $@

.PHONY: bill
bill: setup build/checks.stamp build ## Make the context of the execution environment, and its bill of materials, in build
	@$(BIN)/python tests/bill.py

.PHONY: release
release: setup ## Prepare a release, VERSION=1.2.0: version, changelog, archive and its check. Publishes nothing
	@$(BIN)/python tests/release.py $(VERSION)

# constraints.txt has an exact version for each package of .venv, so that a new release of one breaks no clone.
.PHONY: raise-pins
raise-pins: ## Raise the versions in constraints.txt of what development installs
	@rm -rf build/pins && mkdir -p build && $(PYTHON) -m venv build/pins
	@grep -v '^-' requirements-dev.txt > build/pins/tools.txt
	@build/pins/bin/pip install --quiet --disable-pip-version-check -r requirements.txt -r build/pins/tools.txt
	@{ grep '^#' constraints.txt; build/pins/bin/pip freeze; } > build/pins/constraints.txt
	@mv build/pins/constraints.txt . && rm -r build/pins && git diff --stat constraints.txt

.PHONY: clean
clean: ## Remove everything that was made, except .venv
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

# One for each argument of the script: tests, patched, twin.
build/host-%.stamp: tests/setup_host.sh
	@mkdir -p build
	tests/setup_host.sh $*
	@touch $@

build/venv.stamp: requirements.txt requirements-dev.txt constraints.txt
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

# Spark and ZooKeeper start in half the time with these archives, and tests start both often.
build/classes.stamp: build/venv.stamp | setup
	@echo Make the archives of classes
	@$(RUN_SPARK) -m support.servers.class_archives
	@touch $@

# The stamp is as old as the start of the run, so that the next run checks files that changed meanwhile.
build/sanity.stamp: build/host-tests.stamp build/venv.stamp $(TRACKED)
	@touch $@.new
	@echo 'ansible-test sanity takes minutes, and writes to build/sanity.log'
	@$(BIN)/python tests/run_sanity.py > build/sanity.log 2>&1 || { cat build/sanity.log; exit 1; }
	@mv $@.new $@

# Parts of `make test`. Each one leaves what is ready as it is, and prints NOT RUN for what this machine cannot have.
.PHONY: every-test compiled compat-venvs zookeepers servers staging-base
every-test: setup
	@$(PYTEST) $(PYTEST_ARGS)

# Collecting compiles all files once: otherwise all workers would do so at the same moment.
compiled: setup
	@$(BIN)/pytest --collect-only --quiet --quiet > build/collected.log 2>&1 || true

compat-venvs: build/venv.stamp
	@$(RUN) -m compat

# Older releases, whose files tests read. After the host, as both use apt-get.
zookeepers: build/venv.stamp | build/host-tests.stamp
	@$(RUN) -m support.servers.zookeeper_releases

# ClickHouse servers of other versions, 2 GB unpacked: those of every test, or RUNGS="24.5 25.5".
servers: build/venv.stamp
	@$(RUN) -m support.servers.ladder.rungs $(RUNGS)

# Otherwise the first test that boots a host would build the tree of all hosts, and others would wait for it.
# Without .venv, which is made at the same time.
staging-base: build/host-tests.stamp
	@PYTHONPATH=tests $(PYTHON) -m staging.ready
