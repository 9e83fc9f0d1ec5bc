# `make setup` is all that a user needs; the rest is for contributors. `make help` lists the targets.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.installed
DEV    := $(VENV)/.installed-dev
PAGE   := src/regard/studio/page/index.html
EXPLORER := src/regard/show/explorer/explorer.js
WEB    := $(shell find web -type f -not -path '*/node_modules/*' 2>/dev/null)
# Instruction sets of older processors, for every library below torch, and the tests whose results are rounded.
AVX2   := ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2
SSE    := ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 MKL_ENABLE_INSTRUCTIONS=SSE4_2
NUMBERS := tests/box tests/layers

.PHONY: help setup demo studio setup-dev page check test test-slow test-cpu test-gpu nightly bench size clean

help:            ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 14

setup: $(READY)  ## regard in .venv, with the studio's page: all that a user needs
	@$(MAKE) --no-print-directory page || echo "The studio's page is not built; all else works. 'make page' tries again."
	@echo
	@echo "Ready. In each new terminal, type this first:"
	@echo "  source $(BIN)/activate"
	@echo "Then, for example:"
	@echo '  regard translate "The black cat ate the mouse." --to fr --look'

demo: $(READY)   ## watch a small attention model learn, in this terminal
	@$(BIN)/regard demo

studio: $(READY) $(PAGE) $(EXPLORER)  ## the browser studio
	@$(BIN)/regard studio

page: $(READY) $(PAGE) $(EXPLORER)  ## the studio's page and that of a saved trace, built again if web/ has changed

setup-dev: $(DEV)  ## regard in .venv, with what checks and tests need

check: $(DEV) $(PAGE) $(EXPLORER)  ## format, lint, types, import order, house rules, the page's own tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/page.py ci check test
	$(BIN)/pytest -q -n 2 tests/house

test: $(DEV) $(PAGE) $(EXPLORER)  ## the fast tests
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2 --ignore=tests/house

test-cpu: $(DEV) ## tests of numbers again, as on processors with AVX2 alone, and without it
	OMP_NUM_THREADS=1 $(AVX2) $(BIN)/pytest -q -n 2 $(NUMBERS)
	OMP_NUM_THREADS=1 $(SSE) $(BIN)/pytest -q -n 2 $(NUMBERS)

test-slow: $(DEV)  ## learning, long searches, many kills: minutes
	$(BIN)/pytest -q -m slow

nightly: $(DEV)  ## everything, with the long settings
	REGARD_LONG=1 $(BIN)/pytest -q -m "slow or not slow"
	$(MAKE) test-gpu

test-gpu: $(DEV) ## the laws of the fast paths, on a GPU
	$(BIN)/pytest -q -m gpu -o addopts="--import-mode=importlib --strict-markers"

bench: $(READY)  ## what any machine can measure; bench/README.md has the rest
	$(BIN)/regard bench

size: $(DEV)     ## lines a file and a function
	@$(BIN)/python -m tests.house.size

clean:           ## remove what was built
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) tools/install.py $(VENV) png
	@touch $@

$(DEV): pyproject.toml constraints.txt
	@$(PYTHON) tools/install.py $(VENV) dev
	@touch $(READY) $@

# One build makes both.
$(EXPLORER): $(PAGE)
	@test -f $@ || $(BIN)/python tools/page.py ci build
	@touch $@

$(PAGE): $(WEB) | $(READY)
	@echo "Building the studio's page."
	@$(BIN)/python tools/page.py ci build
	@touch $@
