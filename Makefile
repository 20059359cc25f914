# make demo: install and run on the standard library's own files.  make test: everything that must pass.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

EXTRAS := --extra code --extra heic --extra images --extra plots --extra records --extra serve
ALL_EXTRAS := $(EXTRAS) --extra graph --extra mcp --extra postgres --extra remote --extra spark --extra web

.PHONY: help demo test lint types rooms tests docs wheel bench bench-faults bench-fuzz bench-soak lock clean

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

$(VENV)/ready: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("lookalike needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -r requirements.lock
	$(PIP) install --no-deps --editable .
	@touch $@

$(VENV)/ready-dev: $(VENV)/ready requirements-dev.lock
	$(PIP) install -r requirements-dev.lock
	@touch $@

demo: $(VENV)/ready ## install into .venv and find the look-alikes in Python's own library
	$(BIN)/lookalike demo -o .demo --force

test: lint types rooms tests ## everything that must pass

lint: $(VENV)/ready-dev ## ruff: format and rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/ready-dev ## mypy, strict
	$(BIN)/mypy

rooms: $(VENV)/ready-dev ## who may import whom
	$(BIN)/lint-imports

tests: $(VENV)/ready-dev ## the tests
	$(BIN)/pytest -n 3 --dist loadgroup

docs: $(VENV)/ready-dev ## the site, into .site/index.html; warnings are errors
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env -b html docs .site
	@echo "Open .site/index.html"

wheel: $(VENV)/ready ## a wheel with machine code for this version of Python and Linux on x86-64, into dist
	$(BIN)/python scripts/make_machine_code.py .machine-code
	LOOKALIKE_MACHINE_CODE=.machine-code $(PIP) wheel . --no-deps --wheel-dir dist

bench: ## speed and quality beside other tools, in an environment of its own (.bench)
	benchmarks/run

bench-faults: $(VENV)/ready-dev ## a hundred thousand schedules of faults of disk and power
	PYTHONPATH=src $(BIN)/python benchmarks/faults.py

bench-fuzz: $(VENV)/ready-dev ## mutated inputs for every reader
	PYTHONPATH=src $(BIN)/python benchmarks/fuzz.py

bench-soak: $(VENV)/ready-dev ## the service under load, with restarts
	PYTHONPATH=src $(BIN)/python benchmarks/soak.py

lock: ## pin what is installed (needs uv)
	uv pip compile pyproject.toml $(EXTRAS) --universal --no-emit-index-url --custom-compile-command "make lock" -o requirements.lock
	uv pip compile pyproject.toml $(ALL_EXTRAS) --group dev --universal --no-emit-index-url --custom-compile-command "make lock" -o requirements-dev.lock

clean: ## remove what make has made
	rm -rf $(VENV) .bench .machine-code dist .demo .demo.html .demo-texts.parquet .site
