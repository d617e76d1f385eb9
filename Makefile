# Every target sets up .venv first where it is absent.
PYTHON ?= python3
BIN := $(CURDIR)/.venv/bin
READY := .venv/.ready
export PATH := $(BIN):$(PATH)
export DVC_NO_ANALYTICS := 1

.PHONY: repro test setup bench
repro: $(READY)
	dvc repro

test: $(READY)
	ruff check src stages tests
	ruff format --check src stages tests
	mypy
	pytest -n 2

setup: $(READY)

bench: $(READY)
	trinity bench coordinator

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@
