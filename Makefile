# Every target sets up .venv first where it is absent.
PYTHON ?= python3
BIN := $(CURDIR)/.venv/bin
READY := .venv/.ready
export PATH := $(BIN):$(PATH)
export DVC_NO_ANALYTICS := 1
# One thread a process: on few cores OpenMP's threads wait for each other by spinning.
export OMP_NUM_THREADS ?= 1

.PHONY: repro test test-slow setup bench
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

setup: $(READY)

bench: $(READY)
	trinity bench coordinator
	trinity bench sandbox

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@
