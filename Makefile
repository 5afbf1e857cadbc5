# Tidemill's commands. All of them install what they need first; nothing but Node's npm has to be there.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# Node comes along as a package, so that a machine with an older one works, too.
bin := node_modules/.bin
node := $(bin)/node
packages := node_modules/.package-lock.json
# What everything needs: the packages, and the code that Git ignores because it follows from other files.
installed := generated-code

.PHONY: help
help: ## Show this
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-16s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: up
up: $(installed) ## Start the whole of Tidemill on this machine; Ctrl-C stops it (POSTGRES=1 with a Postgres, CLICKHOUSE=1 with a ClickHouse; TIDEMILL_HOME=… for a second one)
	@$(node) local/up.ts

.PHONY: public-url
public-url: $(installed) ## Tell a running Tidemill the URL of your tunnel (URL=https://…; without it, this machine's own)
	@$(node) local/change-public-url.ts "$(URL)"

.PHONY: down
down: ## Stop what `make up` started; the data stays
	@if [ -x $(node) ]; then $(node) local/down.ts; else sh local/down.sh; fi

.PHONY: console
console: $(installed) ## The console with hot reload, beside a running `make up` or the API of TIDEMILL_API_URL
	@$(node) tools/console/dev.ts

.PHONY: console-screenshots
console-screenshots: $(installed) ## Pictures of each page of the console, light, dark and on a phone, in .tidemill/screenshots (needs Chromium)
	@CONSOLE_SCREENSHOTS=.tidemill/screenshots $(node) $(bin)/vitest run --project console test/console/screenshots

.PHONY: check
check: $(installed) ## Under a minute: format, lint, types and unit tests
	@$(MAKE) --jobs=3 style types unit

.PHONY: test
test: lint servers ## 10 minutes: all of check, then each promise, kind, kill and border on real servers
	@$(node) test/run.ts laptop

.PHONY: test-all
test-all: $(installed) ## 40 minutes: everything else once: each warehouse, the chart, the image, a real node (ROOMS="chart node" for some)
	@$(node) local/fetch.ts alert-rules promtool
	@$(node) test/run.ts all $(ROOMS)

.PHONY: test-deep
test-deep: $(installed) servers ## Hours, in parts that go on where the last call ended: seeds, exhaustive searches, old servers, ecosystems (PART=chaos for one)
	@$(node) test/deep.ts $(PART)

.PHONY: e2e-up e2e-down
e2e-up: $(installed) ## Start a cluster of one real node, to try things by hand
	@$(node) test/node/up.ts
e2e-down: $(installed) ## Remove it
	@$(node) test/node/down.ts

.PHONY: control-plane
control-plane: servers ## The control plane's tests alone (TIDEMILL_BIN=… with the servers of another version of Kubernetes)
	$(node) $(bin)/vitest run --project control-plane --project faults-control-plane

.PHONY: chart
chart: $(installed) ## Minutes: check the Helm chart, by Helm, kubeconform and a real apiserver (builds them with Go)
	$(node) $(bin)/vitest run --project chart

.PHONY: e2e
e2e: $(installed) ## Minutes: install Tidemill on a real node and try it there (root on Linux; or TIDEMILL_E2E_KUBECONFIG=…)
	@$(node) test/run.ts all node

.PHONY: install-yaml
install-yaml: $(installed) ## Write install.yaml: the chart with the values to try it out, for kubectl apply (FILE=…)
	@$(node) tools/generate/chart/install-yaml.ts $(FILE)

.PHONY: chaos
chaos: servers ## Break parts of the data plane; every event must survive it once (SEEDS=1..200, SEED=7 for one again, SHARDS=4)
	TEST_DEEP=1 CHAOS_SEEDS=$(or $(SEED),$(SEEDS),1..10) CHAOS_SHARDS=$(or $(SHARDS),2) $(node) $(bin)/vitest run --project faults-chaos test/faults/chaos/chaos

.PHONY: table-histories
table-histories: ## Random histories of a Pipeline: after each Run its table holds what the docs promise (SEEDS=1..200, SEED=7 for one again)
	TEST_DEEP=1 TABLE_SEEDS=$(or $(SEED),$(SEEDS),1..50) $(if $(SEED),TABLE_TELL=1) $(node) $(bin)/vitest run --project data-plane test/data-plane/table-model.deep.test.ts

.PHONY: chaos-controls
chaos-controls: servers ## Break each promise in the code, one at a time: the same tests must turn red (ONLY=quarantine for some)
	TEST_DEEP=1 CHAOS_CONTROLS="$(or $(ONLY),all)" $(node) $(bin)/vitest run --project faults-chaos test/faults/chaos/controls

.PHONY: controls
controls: $(if $(LIST),$(installed),servers) ## Break each promise in the code, one at a time: a file of make test must turn red (ONLY=retention for some, LIST=1 says which file)
	@$(if $(LIST),$(node) test/controls/list.ts,TEST_DEEP=1 CONTROLS_ONLY="$(ONLY)" $(node) $(bin)/vitest run --project controls test/controls/controls.deep)

.PHONY: fuzz
fuzz: servers ## Minutes: 100,000 bodies from POST to DuckDB, Postgres and BigQuery's double, compared with another reader of JSON (BODIES=…, SEED=7 for the same again)
	@TEST_DEEP=1 SEED=$(or $(SEED),$(shell date +%s)) BODIES=$(or $(BODIES),100000) $(node) $(bin)/vitest run --project data-plane test/data-plane/body-values.deep.test.ts

.PHONY: bench
bench: $(installed) servers ## Measure speed as ratios to a baseline of the same run (ONLY=receive for one)
	@$(node) tools/bench/run.ts $(ONLY)

.PHONY: schemathesis
schemathesis: $(installed) servers ## Minutes: requests made from the OpenAPI document (needs Python 3)
	@$(node) test/schemathesis/run.ts --workers 1

.PHONY: test-ecosystem
test-ecosystem: $(installed) servers ## Minutes: clients of the REST API, Airflow, Dagster, Prefect and dbt with their examples, and the recipes of docs/lake.md (needs Python 3.11, Go and Java 17)
	@$(node) test/ecosystem/run.ts
	@$(node) test/ecosystem/orchestrators/run.ts
	@$(node) test/ecosystem/bigquery/run.ts
	@$(node) test/ecosystem/dbt/run.ts
	@LAKE_TOOLS=all $(node) $(bin)/vitest run --project data-plane test/data-plane/lake-python

.PHONY: bench-pairs
bench-pairs: $(installed) servers ## An hour: load, archive, receive and the whole path beside those of an earlier commit, five times in turn (BASE=<commit>)
	@$(node) tools/bench/pairs/main.ts

.PHONY: test-bigquery
test-bigquery: $(installed) ## Minutes: test a real project of BigQuery, and say what that proved (TIDEMILL_BIGQUERY_PROJECT=…)
	@$(node) test/bigquery/run.ts

.PHONY: site
site: ## Build docs/ as a site, docs/.vitepress/dist, and check its links (npm --prefix docs run dev shows it while you write)
	@cd docs && npm ci && npm run build

.PHONY: mutants
mutants: $(installed) ## Minutes: change the decisions one expression at a time; a unit test must notice each (FILES=… for some)
	@$(node) test/mutants/run.ts $(FILES)

.PHONY: house
house: $(installed) ## Seconds: how easily a stranger finds their way: sizes, folders, imports and names, beside their targets
	@$(node) tools/house/main.ts

.PHONY: clients
clients: $(installed) ## Write the generated parts of the Python and the TypeScript client, which `pip install ./clients/python` and `npm pack` need
	@$(node) tools/generate/clients.ts

.PHONY: release-chart
release-chart: $(installed) ## Write the chart as a release publishes it, with its changes, kinds, examples and images for Artifact Hub, into dist/chart
	@$(node) tools/generate/chart/listing.ts

.PHONY: cli-package
cli-package: $(installed) ## Write the command line as an npm package for Linux, macOS and Windows, with manifests for krew and Homebrew, into dist/
	@$(node) tools/npm/main.ts

.PHONY: image
image: $(installed) ## Build the container image (IMAGE=tidemill:dev; BUILDER=here needs neither a daemon nor an image registry, but root on Debian)
	@$(node) tools/image/build.ts

.PHONY: kind-up
kind-up: $(installed) ## Tidemill in a kind cluster, by its image and chart (needs docker, kind, helm, kubectl)
	@$(node) local/kind.ts

.PHONY: kind-down
kind-down: $(installed) ## Remove that cluster
	@$(node) local/kind.ts down

.PHONY: clean
clean: ## Stop it, and remove all its data in .tidemill and the installed packages (downloaded servers stay cached)
	@$(MAKE) down
	rm -rf .tidemill node_modules

.PHONY: lint
lint: $(installed)
	@$(MAKE) --jobs=2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) style types

.PHONY: style types unit
# What hasn't changed since the last time isn't checked again, nor is its style unless it imports what has.
style: $(installed)
	$(node) tools/house/style.ts
# One checker and a lazy garbage collector take half of the CPU time; the lint beside it wants the rest.
types: $(installed)
	GOGC=400 $(node) $(bin)/tsc --checkers 1 --incremental --tsBuildInfoFile node_modules/.cache/types.tsbuildinfo
	$(node) tools/console/types.ts
	GOGC=400 $(node) $(bin)/tsc --checkers 1 --incremental --tsBuildInfoFile node_modules/.cache/console.tsbuildinfo --project console
unit: $(installed)
	$(node) $(bin)/vitest run --project unit

# The servers that tests run against, fetched beforehand to show how far that is.
.PHONY: servers
servers: $(installed)
	@$(node) local/fetch.ts

.PHONY: $(installed)
$(installed): $(packages)
	@$(node) tools/generate/code.ts

# What the lock file names, and nothing else.
$(packages): package-lock.json
	@command -v npm >/dev/null || { echo "Tidemill needs Node.js 20 or later with npm. Install it from https://nodejs.org and run make again."; exit 1; }
	@sh tools/install.sh
	@[ -x $(node) ] || { echo "npm has installed no Node of its own, which it has for Linux and macOS on x64 and arm64: is it set to omit optional packages, or did its download fail? Run make again."; exit 1; }
	@touch $@
