PYTHON ?= python3
BIN = .venv/bin

.PHONY: demo test check benchmarks clean

demo: .venv/demo
	$(BIN)/python examples/digits.py

test: check
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

check: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

benchmarks: .venv/benchmarks
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/support.py
	$(BIN)/python benchmarks/acquisition.py
	$(BIN)/python benchmarks/regret.py
	$(BIN)/python benchmarks/store.py
	$(BIN)/python benchmarks/report.py

# A stamp for each set of extras; made again when pyproject.toml changes.
.venv/%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	touch $@

clean:
	rm -rf .venv
