# Everything here sets itself up: on a fresh clone type `make demo` or `make test`.
# Needs Python 3.11 or newer. Java 17, Maven and redis-server are installed where apt-get may be
# used, and otherwise named with the command to type. A second run sets nothing up again.

PYTHONS := python3.11 python3.12 python3.13 python3.14 python3 python
BIN := .venv/bin
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))

.DEFAULT_GOAL := help
.PHONY: help setup venv demo test test-long test-chart chart sbom audit lint measures format lock jars-lock clean

help:  ## Show this list
	@echo "Podium: ranked publish/subscribe on Kafka. Targets:"
	@sed -n 's/^\([a-z-]*\):[^#]*## */\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name what; do \
		printf '  make %-10s %s\n' "$$name" "$$what"; done

demo: setup  ## Bring up a whole fleet, match 50,000 events, check the answers, stop everything
	@$(BIN)/podium demo

test: venv  ## Lint, then every test on a real Kafka and Redis; the index tests also without the JIT
test-long: venv  ## The same, with the long forms: more examples, clusters, whole benchmark pages

test: SELECTED := not long and not cluster
test-long: SELECTED := not cluster
test-long: export PODIUM_TESTS := long

test test-long:
	@$(BIN)/python -m podium.stack.setup.provision --for test
	@echo "kernels are compiled beside the linters (minutes on a fresh clone, then seconds)"
	@$(BIN)/python -m tests.helm.go_tools & building=$$!; \
	$(BIN)/python -m workers.warm_up & compiling=$$!; without_jit=; \
	trap 'kill $$building $$compiling $$without_jit 2>/dev/null' INT TERM; \
	$(MAKE) --no-print-directory lint || { kill $$building $$compiling; exit 1; }; \
	wait $$compiling || exit 1; \
	echo "the index tests also run without the JIT, beside the others; they report at the end"; \
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -p no:cacheprovider \
		-m "not large and ($(SELECTED))" tests/indexes > .without-jit.log 2>&1 & without_jit=$$!; \
	$(BIN)/python -m pytest --numprocesses 4 -m "$(SELECTED)"; jit=$$?; \
	wait $$without_jit; plain=$$?; \
	if [ $$plain = 0 ]; then echo "without the JIT: $$(tail -1 .without-jit.log)"; \
	else cat .without-jit.log; fi; \
	exit $$((jit > plain ? jit : plain))

setup: venv  ## Set up all that `podium` needs: .venv, Java, Maven, Redis, the jars
	@$(BIN)/python -m podium.stack.setup.provision --for demo

test-chart: venv  ## Install the chart into a real API server, by Helm 4 and 3 (builds it once: half an hour)
	@$(BIN)/python -m tests.helm.go_tools --cluster
	$(BIN)/python -m pytest -m "cluster or not cluster" tests/helm

lint: venv  ## Check style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

measures: venv  ## Measure how the code is laid out
	@$(BIN)/python -m tests.house

chart: venv  ## Write what is made of the chart's values: schema, page, reviewed renders
	@$(BIN)/python -m tests.helm.schema
	@$(BIN)/python -m tests.helm.values_page
	@$(BIN)/python -m tests.helm.golden

format: venv  ## Rewrite the code in the house style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

COMPILE := $(BIN)/uv pip compile --python-version 3.11 --generate-hashes --no-annotate \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" pyproject.toml
OF_SPARK := pyspark py4j pandas

lock: venv  ## Pin what pyproject.toml asks for, with hashes, in requirements.lock and the image's
	$(subst --no-annotate,,$(COMPILE)) --universal --extra dev -o requirements.lock
	$(COMPILE) --python-platform linux --constraint requirements.lock -o image/spark.lock
	$(COMPILE) --python-platform linux --constraint requirements.lock -o image/podium.lock \
		$(addprefix --no-emit-package ,$(OF_SPARK))

jars-lock: venv  ## Pin the jars that podium/stack/setup/pom.xml resolves to, in jars.sha256
	@$(BIN)/python -m podium.stack.setup.provision --write-lock

sbom: venv  ## Write what the images are made of as CycloneDX, to build/sbom
	@mkdir -p build/sbom
	$(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --mc-type application \
		--output-reproducible -o build/sbom/podium.cdx.json image/podium.lock
	$(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --mc-type application \
		--output-reproducible -o build/sbom/podium-spark.cdx.json image/spark.lock

audit: venv  ## Look for known vulnerabilities in what the images are made of
	$(BIN)/pip-audit --strict --require-hashes --disable-pip -r image/spark.lock

clean:  ## Remove .venv and everything that can be made again (not the stack's data in .podium)
	rm -rf .venv build .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

venv:
	@for python in $(PYTHONS); do \
		if "$$python" -I -c '$(NEW_ENOUGH)' 2>/dev/null; then \
			exec "$$python" -I podium/stack/setup/bootstrap.py; \
		fi; \
	done; \
	echo "podium set-up: missing: Python 3.11 or newer (looked for $(PYTHONS))" >&2; \
	echo "install with:" >&2; \
	if command -v brew >/dev/null; then echo "  brew install python@3.11" >&2; \
	else echo "  sudo apt-get update && sudo apt-get install -y python3 python3-venv" >&2; fi; \
	exit 2
