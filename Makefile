PYTHON ?= python3
BIN = .venv/bin

.PHONY: demo test check benchmarks peers peers-benchmark experiments clean

demo: .venv/demo
	$(BIN)/python examples/digits.py

test: check
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

check: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

benchmarks: .venv/benchmarks .venv/plots
	$(BIN)/python -m benchmarks.overhead
	$(BIN)/python -m benchmarks.growth
	$(BIN)/python -m benchmarks.effort
	$(BIN)/python -m benchmarks.acquisition
	$(BIN)/python -m benchmarks.store
	$(BIN)/python -m benchmarks.report

# Environments of the optimizers that farthing is compared with, in .peers.
peers: .venv/benchmarks
	$(BIN)/python -m benchmarks.peers.environments
	@echo "Made in .peers. Next: make peers-benchmark DATA=folder, where folder/yahpo_lcbench has model.onnx and encoding.json;"
	@echo "without DATA the LCBench tasks are left out. It takes many hours, and goes on after Ctrl-C where it was."

# The runs that are missing, the overhead, and what the documentation says of both. OPTIONS: of python -m benchmarks.peers.
peers-benchmark: .venv/benchmarks .venv/plots
	$(BIN)/python -m benchmarks.peers $(if $(DATA),--data "$(DATA)") $(OPTIONS)
	$(BIN)/python -m benchmarks.peers.overhead
	$(BIN)/python -m benchmarks.peers.summary
	$(BIN)/python -m benchmarks.report

# The paper's experiments: the runs that are missing, results, figures, docs/results.md. OPTIONS: of python -m experiments.
experiments: .venv/experiments
	$(BIN)/python -m experiments all $(if $(DATA),--data "$(DATA)") $(OPTIONS)

# A stamp for each set of extras; made again when pyproject.toml changes.
.venv/%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	touch $@

clean:
	rm -rf .venv
