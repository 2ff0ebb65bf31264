# make run, make test: the two commands of the README; each sets everything up by itself, once.
PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Which versions of the dependencies: tested (constraints.txt), minimum (what pyproject.toml allows), newest.
VERSIONS ?= tested
CONSTRAINTS_tested := -c constraints.txt
CONSTRAINTS_minimum := -c .cache/minimum.txt

.PHONY: run test test-all check lint types site wheel sdist bench screenshots notebooks clean

run: .venv/ready
	$(BIN)/infograph study MUTAG --repeats 10 --out runs/mutag

# One worker per core and one thread each: two threads per worker would fight for the cores.
test: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

# The slow ones start clusters and several processes each: one after the other.
test-all: test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m slow

check: lint types site wheel sdist

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready
	$(BIN)/mypy

# The documentation, where a link, a name or a page that is not there is an error.
site: .venv/ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The wheel, in an environment that has nothing but what the wheel asks for.
wheel: .cache/wheel-env/ready
	rm -rf dist
	$(BIN)/python -m build --wheel --outdir dist . > .cache/build.log || (cat .cache/build.log; false)
	.cache/wheel-env/bin/pip install --quiet --no-deps --force-reinstall dist/*.whl
	.cache/wheel-env/bin/pip check
	cd .cache && wheel-env/bin/python -I -c "import infograph; infograph.InfoGraph(dim=8, epochs=1).fit_transform([(e, n) for e, n in zip([[(0, 1)]] * 4, range(2, 6))])"
	cd .cache && env -u INFOGRAPH_DATA INFOGRAPH_CACHE=wheel-env/data wheel-env/bin/python -I -c "import infograph; assert len(infograph.load_dataset('MUTAG', download=False)) == 188"
	cd .cache && wheel-env/bin/infograph --version

# What would be uploaded: the wheel above and the sources, whose wheel is the same.
sdist: wheel
	$(BIN)/python -m build --sdist --outdir dist . >> .cache/build.log || (cat .cache/build.log; false)
	$(BIN)/twine check --strict dist/*
	$(BIN)/python .ci/check_dist.py

bench: .venv/ready
	$(BIN)/python -m benchmarks

# The pictures of the explorer that README and docs show, by the tests that need the same pages.
screenshots: .venv/ready
	INFOGRAPH_SCREENSHOTS=docs $(BIN)/python -m pytest tests/explore/test_browser_qm9.py

# The notebooks of the examples, run again where they are; files that they write go to a folder of their own.
notebooks: .venv/ready
	mkdir -p .cache/notebooks
	cp examples/notebooks/*.ipynb .cache/notebooks
	cd .cache/notebooks && env -u INFOGRAPH_DATA ../../$(BIN)/jupyter execute --inplace *.ipynb
	cp .cache/notebooks/*.ipynb examples/notebooks

.venv/ready: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	mkdir -p .cache
	$(BIN)/python .ci/minimum.py > .cache/minimum.txt
	$(BIN)/pip install --quiet $(CONSTRAINTS_$(VERSIONS)) -e '.[all,scale,dev]'
	touch $@

.cache/wheel-env/ready: pyproject.toml constraints.txt .venv/ready
	mkdir -p .cache
	rm -rf .cache/wheel-env dist
	$(PYTHON) -m venv .cache/wheel-env
	$(BIN)/python -m build --wheel --outdir dist . > .cache/build.log || (cat .cache/build.log; false)
	.cache/wheel-env/bin/pip install --quiet -c constraints.txt dist/*.whl
	touch $@

clean:
	rm -rf .venv .cache dist runs .mypy_cache .ruff_cache .pytest_cache .hypothesis
