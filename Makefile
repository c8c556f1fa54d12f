# One command each for what people do here. Needs python3 (3.11 or newer) and make; everything else goes into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-is-done
# Twice quiet: what a registry mirror lacks is no news, what fails is.
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --root-user-action=ignore --constraint constraints.txt
TORCH := $(shell grep '^torch==' constraints.txt)

# One cause at a time: without ensurepip no venv is made, in a folder of somebody else's neither.
define WHY_NO_VENV
if ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then echo '$(PYTHON) has no venv module: install it (Debian: apt-get install python3-venv)'; \
elif [ -e $(VENV) ] && [ ! -w $(VENV) ]; then echo '$(VENV) cannot be written: it belongs to another user; remove it, or run make as its owner'; \
elif [ ! -e $(VENV) ] && [ ! -w . ]; then echo 'this folder cannot be written: run make in a copy of your own'; \
else echo '$(VENV) could not be made; the lines above say why'; fi
endef

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint unit bench chaos mutants docs clean

help: ## this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1	/' | expand -t 16

setup: $(STAMP) ## build .venv with everything, at the versions of constraints.txt

# torch comes first and on its own, so that no resolver picks another build of it along the way.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Infinicon needs Python 3.11 or newer; say which: make PYTHON=python3.11 setup")'
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV) || { $(WHY_NO_VENV); exit 1; }
	@echo 'Installing into $(VENV): a few minutes, most of them for torch …'
	@$(PIP_INSTALL) $(TORCH)
	@$(PIP_INSTALL) --editable '.[all,dev,bench]'
	@touch $(STAMP)

demo: setup ## the main job: Apollo 13 goes in, memory comes out
	$(BIN)/infinicon demo

test: setup lint ## lint, then every test tier
	$(BIN)/python -m pytest

lint: setup ## ruff, mypy, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: setup ## the tests that need no service: seconds
	$(BIN)/python -m pytest tests/unit tests/architecture

chaos: setup ## the tests that kill processes
	$(BIN)/python -m pytest tests/chaos

mutants: setup ## put faults in on purpose, one after the other, and see their tests turn red; ARGS=NAME for one
	$(BIN)/python -m tests.mutants $(ARGS)

bench: setup ## the figures of docs/performance.md; QUICK=1 for a look, ARGS='--only pipeline' for one, DATA=DIR for recall
	$(BIN)/python -m bench $(if $(QUICK),--quick) $(if $(DATA),--data '$(DATA)') $(ARGS)

docs: setup ## what the code says of itself in docs/: settings, API, commands and what they print
	$(BIN)/python -m docs.generate

clean: ## remove .venv and what tools left behind
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
	find src tests workers beat bench docs -name __pycache__ -type d -prune -exec rm -rf {} +
