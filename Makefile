# Everything a contributor runs. `make help` lists the targets.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PAGE   := src/regard/studio/page/index.html

.PHONY: help setup demo page check test test-slow test-gpu nightly bench studio size clean

help:            ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 14

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -c constraints.txt -e '.[dev]'
	@touch $@

setup: $(STAMP)  ## a virtual environment with everything in it

demo: setup      ## watch a small attention model learn, in this terminal
	$(BIN)/regard demo

page: $(PAGE)    ## the studio's page, checked, tested and built (needs Node 20)

$(PAGE): $(shell find web -type f -not -path '*/node_modules/*' 2>/dev/null)
	cd web && npm ci --no-audit --no-fund && npm run check && npm test && npm run build

check: setup page  ## format, lint, types, import order, house rules, the page
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q tests/house

test: setup      ## the fast tests
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2 --ignore=tests/house

test-slow: setup ## learning, long searches, many kills: minutes
	$(BIN)/pytest -q -m slow

nightly: setup   ## everything, with the long settings
	REGARD_LONG=1 $(BIN)/pytest -q -m "slow or not slow"
	$(MAKE) test-gpu

test-gpu: setup  ## the laws of the fast paths, on a GPU
	$(BIN)/pytest -q -m gpu -o addopts="--import-mode=importlib --strict-markers"

bench: setup     ## what any machine can measure; bench/README.md has the rest
	$(BIN)/regard bench

studio: setup page ## the browser studio
	$(BIN)/regard studio

size: setup      ## lines a file and a function
	@$(BIN)/python -m tests.house.size

clean:           ## remove what was built
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
