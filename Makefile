# make demo, make test: each makes its own virtual environment in .venv first. Needs Python >= 3.11 and nothing else.
# Another interpreter: make test PYTHON=/path/to/python3.12

VENV := .venv
BIN := $(VENV)/bin
DEMO := build/demo
PYTHON ?= python3
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check --no-input
PACKAGES := gpa ingest judges optimize plans

.PHONY: help demo test lint format coverage package clean

help:
	@echo "make demo      evaluate the traces in fixtures/, without key or network"
	@echo "make test      format, lint, types, imports, dependencies, tests: what CI runs"
	@echo "make lint      the same without the tests"
	@echo "make format    let ruff rewrite what it can"
	@echo "make coverage  the tests, with the lines and branches they miss"
	@echo "make package   wheel and sdist in dist/"
	@echo "make clean     remove what make made"

demo: $(VENV)/.runtime
	@rm -rf $(DEMO) && mkdir -p $(DEMO)
	@$(BIN)/gpa transcript fixtures/traces -o $(DEMO)/transcripts.txt
	@$(BIN)/gpa evaluate fixtures/traces --jsonl $(DEMO)/results.jsonl --store $(DEMO)/gpa.db
	@$(BIN)/gpa report $(DEMO)/gpa.db -o $(DEMO)/report.html --title "Recorded agents" >/dev/null
	@echo
	@echo "Written: $(DEMO)/transcripts.txt  what each agent did, step by step"
	@echo "         $(DEMO)/results.jsonl    every verdict with its findings, one object a line"
	@echo "         $(DEMO)/gpa.db           the same as a store that a later run resumes"
	@echo "         $(DEMO)/report.html      the same as a page for your browser"

test: lint $(VENV)/.node
	$(BIN)/pytest -n 2

lint: $(VENV)/.dev
	$(BIN)/ruff format --check --quiet --output-format concise
	$(BIN)/ruff check --quiet --output-format concise
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/deptry $(PACKAGES)

format: $(VENV)/.dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

coverage: $(VENV)/.dev
	$(BIN)/pytest --cov --cov-report=term-missing:skip-covered

package: $(VENV)/.dev
	$(BIN)/python -m build --no-isolation

clean:
	rm -rf $(VENV) tests/js/node_modules build dist .coverage .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# Stamp files: a rerun installs nothing until what it depends on changes.
$(VENV)/.dev: $(VENV)/.runtime
	@echo "Installing the tools of development into $(VENV) ..."
	@$(PIP) install --constraint constraints.txt --group dev
	@touch $@

# The JavaScript that tests use (an OTLP exporter, axe-core). Without npm those tests are skipped and say so.
$(VENV)/.node: $(VENV)/.dev tests/js/package.json
	@npm install --prefix tests/js --no-package-lock --no-audit --no-fund --silent \
	    --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=2000 --fetch-timeout=30000 \
	    || echo "npm could not install what tests/js/package.json names: tests that need it are skipped" >&2
	@touch $@

$(VENV)/.runtime: $(VENV)/.python pyproject.toml constraints.txt
	@echo "Installing agent-gpa into $(VENV) ..."
	@$(PIP) install --constraint constraints.txt pip hatchling editables
	@$(PIP) install --constraint constraints.txt --no-build-isolation --editable '.[optimize,otel,pandas,parquet,postgres,serve,stats]'
	@touch $@

$(VENV)/.python:
	@for python in "$(PYTHON)" python3.13 python3.12 python3.11 python; do \
	    if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        echo "Making $(VENV) with $$("$$python" --version) ..."; \
	        "$$python" -m venv --clear $(VENV) && touch $@ && exit 0; \
	        echo "$$python could not make a virtual environment (on Debian and Ubuntu: apt install python3-venv)" >&2; \
	        exit 1; \
	    fi; \
	done; \
	echo "expected Python >= 3.11, found: $$("$(PYTHON)" --version 2>/dev/null || echo none)" >&2; \
	echo "install one, or name one: make PYTHON=/path/to/python3.12" >&2; \
	exit 1
