SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# One set of build flags, so that vet, staticcheck, the tests and the programs that they start share what is
# compiled. Only `make race` needs C.
export CGO_ENABLED = 0

# The compiler and the tests need less processor time if they collect garbage only when they have used this much memory.
# The servers that tests start get an environment of their own.
lint verify test race: export GOGC = off
lint verify test race: export GOMEMLIMIT = 500MiB

TOOL := go tool -modfile=tools.mod

# Recorded upstream payloads. Tests that need them say so if they are missing.
UPSTREAM_SAMPLES ?= $(realpath ../shared/upstream-samples)
ifneq ($(UPSTREAM_SAMPLES),)
export UPSTREAM_SAMPLES
endif

# PKG lists the packages that `make test` and `make bench` cover. The longest stand first, so that none of them runs
# alone at the end. The torture stands where few others run, because it measures waits. ARGS adds arguments for go test.
PKG ?= ./app ./app/settlement ./app/api ./app/leaderboard ./app/replay ./app/agent ./app/prediction ./... ./.ci/skips
ARGS ?=
# SQLite in pure Go is slow under the race detector, so `make race` leaves out packages whose data no two
# goroutines share.
RACE ?= $(shell .ci/concurrent)

# The version of the program is a tag, or else a commit. If git can't read the tree (another owner,
# no history), the program still builds, as "devel".
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
STAMP = $(shell git rev-parse HEAD >/dev/null 2>&1 || echo -buildvcs=false)
LDFLAGS = -s -w -X github.com/pulsecast/pulsecast/app/version.build=$(VERSION)

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build ## Build and start the demo, with sample data and no other services (ARGS="…" adds flags)
	@exec bin/pulsecast serve --demo $(ARGS)

.PHONY: recorded
recorded: ## Start the service on recorded answers of its sources and a fresh database, without network (ARGS="-addr …")
	@go build -o bin/recorded ./cmd/recorded
	@exec bin/recorded $(ARGS)

# The last lines come from the test runner: skipped tests, failures, DONE. `make lint` runs vet. Up to five failed
# tests run once more, because a busy machine can make a browser or a database too slow for a test. The runner names
# them, and a test that fails twice fails the run.
.PHONY: test
test: fresh ## Check that generated Go is fresh, then run all tests with private Postgres and Redis, Chromium and nginx (without npm)
	@events=$$(mktemp); trap 'rm -f "$$events"' EXIT; \
	export NEED_CHROMIUM=1 NEED_NGINX=1 NEED_PGBOUNCER=1; status=0; \
	.ci/services $(TOOL) gotestsum --format "$${GOTESTSUM_FORMAT:-pkgname}" --jsonfile "$$events" \
		--rerun-fails=1 --rerun-fails-max-failures=5 --rerun-fails-run-root-test --packages="$(PKG)" \
		-- -vet=off -ldflags=-s -p 3 -timeout 20m $(ARGS) || status=$$?; \
	export TEST_POSTGRES_URL=set TEST_REDIS_URL=set; \
	go run ./.ci/skips "$$events" || { test $$status != 0 || status=1; }; \
	exit $$status

.PHONY: race
race: ## Run the tests of every package with goroutines or locks under the race detector (needs a C compiler)
	CGO_ENABLED=1 .ci/services go test -race -timeout 20m $(ARGS) $(RACE)

.PHONY: lint
lint: vet ## Check formatting, go vet and staticcheck
	@files=$$(find . -name '*.go' -not -path './node_modules/*' -exec gofmt -l {} +); \
	test -z "$$files" || { echo "not formatted; run gofmt -w on:"; echo "$$files"; exit 1; }
	@GOGC=300 GOMEMLIMIT=off $(TOOL) staticcheck ./... ./.ci/skips ./.ci/screenshots # it keeps more in memory

.PHONY: vet
vet:
	@go vet ./... ./.ci/skips ./.ci/screenshots

# In `make -j lint verify`, vet compiles everything before other commands need it. So no package is compiled twice at
# the same time.
VET_FIRST := $(if $(filter lint,$(MAKECMDGOALS)),vet)

NPM = $(shell command -v npm)

.PHONY: verify
verify: modules fresh $(if $(NPM),assets description,no-npm) conformance ## Check that generated files and go.mod are fresh, that openapi.yaml passes linters and generators, and that MCP conforms (without npm: only templ code and go.mod)

.PHONY: no-npm
no-npm:
	@echo "npm is missing: static/css/app.css, static/clients and openapi.yaml are not verified"

.PHONY: assets
assets: node_modules
	@.ci/generated css && .ci/generated clients

.PHONY: description
description: build node_modules
	@.ci/description bin/pulsecast

.PHONY: modules
modules:
	@go mod tidy -diff || { echo "stale: go.mod; run: go mod tidy"; exit 1; }
	@app=$$(go list -m -f '{{.Version}}' github.com/a-h/templ); \
	tool=$$(go list -modfile=tools.mod -m -f '{{.Version}}' github.com/a-h/templ); \
	test "$$app" = "$$tool" || { echo "templ is $$app in go.mod and $$tool in tools.mod"; exit 1; }

.PHONY: conformance
conformance: build ## Run the official conformance suite and inspector of MCP against the demo (needs npm)
	@.ci/conformance bin/pulsecast

# With stale generated code, the tests would not test what the sources say.
.PHONY: fresh
fresh: $(VET_FIRST)
	@.ci/generated templ

.PHONY: build
build: $(VET_FIRST) ## Build the static binary bin/pulsecast
	@go build $(STAMP) -ldflags '$(LDFLAGS)' -o bin/pulsecast ./cmd/pulsecast

.PHONY: generate
generate: ## Generate Go from the templ files
	@$(TOOL) templ generate -log-level error -path .

.PHONY: css
css: node_modules ## Build static/css/app.css from input.css and the pages (needs npm)
	@node_modules/.bin/tailwindcss --input static/css/input.css --output static/css/app.css --minify

.PHONY: clients
clients: node_modules ## Generate the types of static/clients/pulsecast.ts from openapi.yaml (needs npm)
	@.ci/generated clients write

node_modules: package.json package-lock.json .npmrc
	@command -v npm >/dev/null || { echo "this target needs npm (Node.js 20 or later)"; exit 1; }
	@npm ci --no-audit --no-fund --prefer-offline --loglevel=error
	@touch node_modules

# Unlike in tests, Postgres writes through to its disk here.
.PHONY: bench
bench: ## Run all benchmarks (PKG=./app/signal selects packages, ARGS="-benchtime 5s" adds flags)
	@packages=$$(go list -f '{{$$p := .}}{{range .TestGoFiles}}{{$$p.ImportPath}} {{$$p.Dir}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$$p.ImportPath}} {{$$p.Dir}}/{{.}}{{"\n"}}{{end}}' $(PKG) | \
		while read -r package file; do \
			test -z "$$file" || ! grep -q '^func Benchmark' "$$file" || echo "$$package"; done | sort -u); \
	test -n "$$packages" || { echo "no benchmarks yet"; exit 0; }; \
	SERVICES_FSYNC=on .ci/services go test -run '^$$' -bench . -benchmem -timeout 30m $(ARGS) $$packages

# .ci/services starts Postgres. Redis isn't needed.
.PHONY: bench-report
bench-report: export TEST_REDIS_URL = none
bench-report: export SERVICES_FSYNC = on
bench-report: build ## Compare with pgbench, nginx, fasthttp and PocketBase, and write docs/performance.md (half an hour; BENCH_ROWS=publish selects rows)
	@go build -o bin/bench ./cmd/bench
	@.ci/services bin/bench report

.PHONY: torture
torture: ## Attack the program and write docs/reliability.md (an hour; TORTURE_SHORT=1 takes minutes)
	@go build -o bin/torture ./cmd/torture
	@bin/torture

.PHONY: copy-test
copy-test: ## Copy 1,000,000 predictions from SQLite to Postgres and compare both sides (half an hour; COPY_PREDICTIONS=20000 is quicker)
	@COPY_PREDICTIONS=$${COPY_PREDICTIONS:-1000000} .ci/services go test -v -timeout 5h -run '^TestLargeCopy$$' ./app/transfer

.PHONY: simulate
simulate: ## Simulate agents of known skill to show what the scoring rewards
	@go run ./cmd/simulate $(ARGS)

.PHONY: screenshots
screenshots: build ## Take the screenshots in docs/screenshots from the demo (needs Chromium)
	@command -v chromium >/dev/null || { echo "this target needs chromium; install it with: apt-get install chromium"; exit 1; }
	@go run ./.ci/screenshots bin/pulsecast docs/screenshots

.PHONY: clean
clean: ## Remove build output and node_modules, but not data/
	@rm -rf bin node_modules
