# The two commands of the README: `make demo` and `make test`. `make help` lists the rest.
PYTHON ?= python3
VENV ?= .venv
TEST_VENV ?= .venv-test
PERF_VENV ?= .venv-perf
GPU_VENV ?= .venv-gpu
PIP_FLAGS := --quiet --disable-pip-version-check -c constraints.txt
# What CI takes less of: clips of the demo (empty: all), pairs for PESQ, and families of private environments (a pytest
# -k expression; empty: all).
CLIPS ?=
PAIRS ?= 2000
FAMILIES ?=
INPUTS := pyproject.toml constraints.txt src/codec_superb/__init__.py

# Some images forbid bytecode: each of hundreds of processes would then compile every module it imports.
unexport PYTHONDONTWRITEBYTECODE

# The files with tests of a marker: reading all others takes twenty seconds.
MARKED = $$(grep -rl 'mark[.]$(1)' tests --include='test_*.py')

.PHONY: demo test test-all test-slow test-isolated test-repositories test-pesq mutants check lint format types layers perf gpu serve clean help chromium postgres libraries

# Recognition, speakers and quality of a few codecs, so that the first look takes three minutes and not five.
PROBED := codec2_700 codec2_3200 amrnb_12.2k opus_6k opus_12k opus_24k g722_64k lyra_3.2k lyra_6k lyra_9.2k

demo: $(VENV)/.installed ## install, fetch `mini`, benchmark and probe real codecs on it, print the ranking, write runs/report.html
	@$(VENV)/bin/codec-superb bench --out runs --application asr,asv,quality --probe-codec $(PROBED) $(if $(CLIPS),--limit $(CLIPS))

serve: $(VENV)/.server ## show the runs of the demo on http://127.0.0.1:8000; without a folder runs/ the leaderboard, on SQLite
	@$(VENV)/bin/codec-superb serve $(wildcard runs)

test: $(TEST_VENV)/.installed chromium postgres libraries ## set up the test environment (torch included) and run the tests, of the long ones a fixed part
	@$(TEST_VENV)/bin/python -P tests/support/compile_loops.py
	OMP_NUM_THREADS=1 $(TEST_VENV)/bin/python -m pytest --processes 2 -q -m "not slow and not isolated"

test-all: export CODEC_SUPERB_TESTS := all
test-all: demo test test-slow test-isolated test-pesq ## everything in its long form, hours; test-repositories is apart

test-slow: $(TEST_VENV)/.installed chromium postgres libraries ## the tests that take minutes, of the longest a fixed part
	$(TEST_VENV)/bin/python -m pytest -q -m slow $(call MARKED,slow)

test-isolated: $(TEST_VENV)/.installed ## build real private environments (or those of FAMILIES), run them with random weights
	$(TEST_VENV)/bin/pip install $(PIP_FLAGS) uv
	PATH="$(abspath $(TEST_VENV))/bin:$$PATH" $(TEST_VENV)/bin/python -m pytest -q -m "isolated and not repositories" $(call MARKED,isolated) $(if $(FAMILIES),-k "$(FAMILIES)")

test-repositories: $(TEST_VENV)/.installed ## the same for packages that are in no registry: git fetches them from their repositories
	$(TEST_VENV)/bin/pip install $(PIP_FLAGS) uv
	PATH="$(abspath $(TEST_VENV))/bin:$$PATH" $(TEST_VENV)/bin/python -m pytest -q -m repositories $(call MARKED,repositories)

check: lint types layers ## everything that reads the code without running it

lint: $(TEST_VENV)/.installed ## ruff: style, docstrings, banned imports, formatting
	$(TEST_VENV)/bin/ruff check .
	$(TEST_VENV)/bin/ruff format --check .

format: $(TEST_VENV)/.installed ## let ruff rewrite what it can
	$(TEST_VENV)/bin/ruff check --fix .
	$(TEST_VENV)/bin/ruff format .

types: $(TEST_VENV)/.installed ## mypy, strict
	$(TEST_VENV)/bin/mypy

layers: $(TEST_VENV)/.installed ## the import layers of docs/design.md
	$(TEST_VENV)/bin/lint-imports

perf: $(PERF_VENV)/.installed ## measure scoring, and a whole run, against the reference composition, in an environment of its own
	$(PERF_VENV)/bin/python perf/metrics/scoring.py
	$(PERF_VENV)/bin/python perf/metrics/scoring.py --pesq-backend fast
	$(PERF_VENV)/bin/codec-superb datasets prepare mini
	$(PERF_VENV)/bin/python perf/metrics/default_set.py
	$(PERF_VENV)/bin/python perf/metrics/pesq_speed.py
	$(PERF_VENV)/bin/python perf/metrics/end_to_end.py

gpu: $(GPU_VENV)/.installed ## measure neural codecs and models of probes on a graphics card, against the CPU, in an environment of its own
	$(GPU_VENV)/bin/python perf/gpu.py

test-pesq: $(TEST_VENV)/.installed ## PAIRS (2,000) seeded pairs through both implementations of PESQ
	$(TEST_VENV)/bin/codec-superb datasets prepare mini
	$(TEST_VENV)/bin/python perf/metrics/pesq_pairs.py --count $(PAIRS)

MUTANTS ?= 100
SEED ?= 0
mutants: $(TEST_VENV)/.installed ## break the code on purpose, MUTANTS ways in each folder (a number or `all`) drawn by SEED: goes on where it was
	$(TEST_VENV)/bin/pip install $(PIP_FLAGS) -e '.[mutants]'
	@mkdir -p mutants/src  # a folder that is missing when Python starts is never looked into again
	PYTHONPATH=$(CURDIR)/mutants/src $(TEST_VENV)/bin/python perf/mutants.py --mutants $(MUTANTS) --seed $(SEED)

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "%-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

clean: ## remove environments and caches; runs/ and downloaded sound stay
	rm -rf $(VENV) $(TEST_VENV) $(PERF_VENV) $(GPU_VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist

# Each environment is made by a Python that is new enough, or by none.
define PYTHON_CHECK
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
  echo "codec-superb needs Python 3.11 or newer; name one: make PYTHON=python3.12" >&2; exit 1; }
endef

# --no-compile: a module is compiled when it is first imported, which four in five of the installed ones never are.
$(VENV)/.installed: $(INPUTS)
	$(PYTHON_CHECK)
	$(PYTHON) -m venv $(VENV)
	@echo "installing codec-superb into $(VENV) (pesq is compiled the first time) ..."
	$(VENV)/bin/pip install $(PIP_FLAGS) --no-compile -e '.[probes,lyra]'
	@touch $@

# The demo does not wait for the packages of the service.
$(VENV)/.server: $(VENV)/.installed
	@echo "installing the leaderboard service into $(VENV) ..."
	$(VENV)/bin/pip install $(PIP_FLAGS) --no-compile -e '.[server]'
	@touch $@

# torch is pinned: 2.13.0 has a CPU wheel where the index offers one; an unpinned torch brings gigabytes of CUDA.
$(TEST_VENV)/.installed: $(INPUTS)
	$(PYTHON_CHECK)
	$(PYTHON) -m venv $(TEST_VENV)
	@echo "installing codec-superb and its test tools into $(TEST_VENV) ..."
	$(TEST_VENV)/bin/pip install $(PIP_FLAGS) --no-compile -e '.[dev,praat,datasets,server,applications]' torch==2.13.0
	@touch $@

# audiotools pins a protobuf that no longer builds, and torchaudio's wheel wants CUDA: both come without dependencies.
$(PERF_VENV)/.installed: $(INPUTS) perf/requirements.txt perf/requirements-no-deps.txt perf/mend_torchaudio.py
	$(PYTHON_CHECK)
	$(PYTHON) -m venv $(PERF_VENV)
	@echo "installing codec-superb and the reference composition into $(PERF_VENV) ..."
	$(PERF_VENV)/bin/pip install $(PIP_FLAGS) -e . -r perf/requirements.txt
	$(PERF_VENV)/bin/pip install $(PIP_FLAGS) --no-deps -r perf/requirements-no-deps.txt
	$(PERF_VENV)/bin/python perf/mend_torchaudio.py
	@touch $@

# The card is looked for before gigabytes of CUDA are installed. === leaves out builds for the CPU (2.13.0+cpu).
$(GPU_VENV)/.installed: $(INPUTS)
	$(PYTHON_CHECK)
	@nvidia-smi --list-gpus 2>/dev/null | grep -q . || { \
	  echo "make gpu needs an NVIDIA graphics card and its driver, and nvidia-smi found none: nothing was measured." >&2; exit 1; }
	$(PYTHON) -m venv $(GPU_VENV)
	@echo "installing codec-superb and PyTorch for CUDA into $(GPU_VENV) ..."
	$(GPU_VENV)/bin/pip install $(PIP_FLAGS) -e '.[applications]' torch===2.13.0
	@touch $@

# The page tests drive a real browser. Through apt where this user may, otherwise say what to install. The headless
# shell needs less processor time than the whole browser, but not every distribution has it.
APT_CHROMIUM = apt-get update -qq && { apt-get install -y -qq chromium-headless-shell || apt-get install -y -qq chromium; } >/dev/null
chromium:
	@command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then DEBIAN_FRONTEND=noninteractive sh -c '$(APT_CHROMIUM)'; \
	  elif command -v apt-get >/dev/null && sudo -n true 2>/dev/null; then sudo DEBIAN_FRONTEND=noninteractive sh -c '$(APT_CHROMIUM)'; \
	  else echo "The page tests need Chromium: install it (Debian: apt install chromium) and run make test again." >&2; exit 1; fi; }

# Encoders of classical codecs that no wheel carries. Tests of a codec whose library is missing are skipped, by name.
LIBRARIES := libvo-amrwbenc0 libspeex1 libbcg729-0 musepack-tools flite
APT_LIBRARIES = apt-get update -qq && apt-get install -y -qq $(LIBRARIES) >/dev/null
libraries:
	@dpkg -s $(LIBRARIES) >/dev/null 2>&1 || { \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then DEBIAN_FRONTEND=noninteractive sh -c '$(APT_LIBRARIES)'; \
	  elif command -v apt-get >/dev/null && sudo -n true 2>/dev/null; then sudo DEBIAN_FRONTEND=noninteractive sh -c '$(APT_LIBRARIES)'; \
	  else echo "Tests of codecs that need a library of the system are skipped: install $(LIBRARIES) (names of Debian)." >&2; fi; }

# The service is tested on a real PostgreSQL, which the tests start themselves.
postgres:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || { \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql >/dev/null; \
	  elif command -v apt-get >/dev/null && sudo -n true 2>/dev/null; then sudo apt-get update -qq && sudo DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql >/dev/null; \
	  else echo "The tests of the service need PostgreSQL: install it (Debian: apt install postgresql) and run make test again." >&2; exit 1; fi; }
