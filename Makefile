# Targets a person types. `make test` is what CI runs: it installs what it needs itself (Debian packages
# where it may, Go modules, packages of Maven Central, PyPI and npm).

GO      ?= go
PKGS    ?= ./...
FUZZ    ?= 3s
CC_HERE := $(shell command -v "$$($(GO) env CC)")
ifneq ($(CC_HERE),)
export CGO_ENABLED ?= 1
endif

.PHONY: all build generate reference check test deps vet suite fuzz-smoke test-examples lint clean \
        test-interop bench-serve bench-hostile bench-canon bench-hashkey bench-store bench-frontier bench-replay bench-uniq bench-corpora bench-redis bench-day bench lab torture mutants soak release dist test-packages

# The tests link what a release links, Pebble without the C library of zstd, which takes a minute of processor time to compile;
# and no tables for debuggers, since more than sixty programs are linked (-s of the linker means -w as well).
export GOFLAGS := $(shell $(GO) env GOFLAGS) -tags=pebblegozstd -ldflags=-s

# What a release is built with, and checked for vulnerabilities with: go fetches it as a module.
export RELEASE_GO ?= go1.26.10

all: build

# build: the program, which the tests take as well (FIRSTSEEN_BIN). It is stripped as in a release (GOFLAGS),
# but without -trimpath, for which Go would compile everything once more than for the tests.
export FIRSTSEEN_BIN ?= $(CURDIR)/bin/firstseen
build:
	$(GO) build -o bin/firstseen ./cmd/firstseen

# generate: files that are made from others: the stubs of urlfrontier.proto, which needs protoc,
# openapi.json, the pages of docs/ref, and the Unicode tables, which needs the Python packages of
# internal/uts46/requirements.txt. Tests make them again and compare.
generate: reference
	$(GO) generate ./frontier/frontierpb ./internal/uts46

# reference: openapi.json, and the pages of commands, metrics, the HTTP interface and rules in docs/ref.
reference:
	$(GO) generate ./cmd/internal/server
	$(GO) test -run RulesPage ./canon -args -rewrite
	$(GO) test -run CommandsPage ./cmd/firstseen -args -rewrite

# check: before each commit. Vet, and the tests that need no other program and no network, in their short form.
check:
	$(GO) vet $(PKGS)
	$(GO) test -short ./store/pebblestore ./cmd/firstseen ./cmd/internal/server $(PKGS)

# test: everything that must hold, on a plain machine. Its parts run side by side, since they wait for
# processes and packages half of the time.
test: deps build
	@$(MAKE) --no-print-directory -j4 vet suite test-examples test-interop
	@git rev-parse --is-inside-work-tree >/dev/null 2>&1 || exit 0; git diff --quiet -- go.mod go.sum || { echo 'cannot pass: the tests changed go.mod or go.sum'; exit 1; }

# deps: programs that some tests drive, from Debian's packages, where they can be installed.
deps:
	@sh cmd/internal/tools/scripts/deps.sh

# vet: for this machine; TestOtherPlatforms checks the types for others.
vet:
	$(GO) vet $(PKGS)

# suite: each test once, under the race detector unless cmd/internal/tools/testrun/plain.txt says why not.
suite:
	$(GO) run ./cmd/internal/tools/testrun

# fuzz-smoke: each fuzz target for a few seconds, beyond its seeds. Its inputs differ from
# run to run, so it is not part of test, which must answer the same twice.
fuzz-smoke:
	@sh cmd/internal/tools/scripts/fuzz.sh $(FUZZ)

# test-interop: clients that others made, against our server. Installs what they need into
# INTEROP_DIR: Java stubs, Python packages, Crawlee and Scrapy; leaves out what cannot be had
# here, with the reason.
INTEROP_DIR ?= bin/interop
test-interop:
	@GO='$(GO)' sh cmd/internal/tools/interop/install.sh '$(INTEROP_DIR)' $(GO) test -count=1 -timeout 20m ./cmd/internal/tools/interop

# bench-serve: our daemon under load, and URLFrontier beside it in the same run
# when PEER names its jar.
PEER ?=
bench-serve: build
	$(GO) build -o bin/loadgen ./cmd/internal/tools/loadgen
	bin/loadgen --ours bin/firstseen --peer '$(PEER)' $(LOADGEN)

# bench-hostile: an honest client of our daemon, alone and under one attack after the other;
# 45 minutes, or less with HOSTILE="--length 12s --rounds 4".
HOSTILE ?=
bench-hostile: build
	$(GO) build -o bin/hostile ./cmd/internal/tools/hostile
	bin/hostile --binary bin/firstseen $(HOSTILE)

# bench: every part beside its rivals, one after the other, as a page of Markdown; needs
# what each rival needs (its page says what) and leaves out those that aren't there.
bench:
	@sh cmd/internal/tools/scripts/bench.sh $(PARTS)

# bench-canon: the canonicalizer beside its rivals in one run, as ratios.
bench-canon:
	cd cmd/internal/tools/rivals/canon && $(GO) run .

# bench-hashkey: url-hash and SXURL beside the crates they come from; needs cargo.
bench-hashkey:
	@sh cmd/internal/tools/rivals/hashkey/run.sh

# bench-store: the seen-set at shares of duplicates, then beside other stores.
STOREBENCH ?= -keys 10e6 -length 15s
bench-store:
	$(GO) run ./cmd/internal/tools/bench/store $(STOREBENCH)
	cd cmd/internal/tools/rivals/store && $(GO) run . -keys 10e6 -length 15s

# bench-redis: the store in Redis beside plainer ways to use the same servers, on a cluster
# of three masters and three replicas that it starts; needs redis-server.
bench-redis:
	$(GO) build -o bin/redisbench ./cmd/internal/tools/bench/redis
	bin/redisbench $(REDISBENCH)

bench-frontier:
	$(GO) test -run - -bench Add -benchtime 1x ./frontier
	$(GO) test -run - -bench Cycle -benchtime 200000x ./frontier
	$(GO) test -run - -bench LeaseByQueues -benchtime 1000x -timeout 1h ./frontier
	FIRSTSEEN_BENCH_QUEUED=1000000 $(GO) test -run - -bench Restart -benchtime 1x -timeout 1h ./frontier
	FIRSTSEEN_BENCH_QUEUED=5000000 $(GO) test -run - -bench Restart -benchtime 1x -timeout 1h ./frontier
	$(GO) test -run - -bench IdleQueue -benchtime 1x ./frontier

# bench-replay: replay beside sort, awk and w3lib on the same real stream.
bench-replay:
	@sh cmd/internal/tools/rivals/lists/replay.sh

# bench-uniq: uniq beside sort, awk and, if they are in the path, anew, urldedupe and uro.
bench-uniq:
	@sh cmd/internal/tools/rivals/lists/uniq.sh

# bench-corpora: uniq beside DuckDB and polars on 20 million URLs in Parquet; needs their Python packages.
bench-corpora:
	@sh cmd/internal/tools/rivals/lists/corpora.sh $(CORPORA)

# lab: how many fetches crawlers need for real web applications; installs these and their interpreters,
# and needs python3 and npm for two of the crawlers. LAB="-apps cgit" is a part of it.
lab:
	$(GO) run ./cmd/internal/tools/lab $(LAB)

# torture: power cuts, kills, mutants and random operations in full counts; hours.
torture:
	FIRSTSEEN_TORTURE=1 $(GO) test -count=1 -v -timeout 12h ./store/... ./frontier ./canon ./cmd/...
	$(GO) test -race -count=1 -timeout 2h ./store/redisstore ./store/pebblestore ./frontier ./cmd/internal/logs ./cmd/internal/parquetfile ./cmd/internal/synth ./cmd/internal/uniq ./internal/uts46
	$(GO) run ./cmd/internal/tools/mutants
	@sh cmd/internal/tools/scripts/fuzz.sh 30m

# mutants: known faults are put into the code, one after the other; a test must find each.
mutants:
	$(GO) run ./cmd/internal/tools/mutants

# bench-day: a crawl of a web of which nine links in ten are known, with a kill of the daemon in the middle: rates, latencies,
# processor time. DAY="-known 300000000 -queued 30000000 -hosts 3000000 -rate 11600 -length 10m" is a billion pages a day.
DAY ?=
bench-day: build
	$(GO) run ./cmd/internal/tools/soak day $(DAY)

# soak: the daemon for a long time under kills, full disks, clock steps and reloads; an
# hour with SOAK="-length 60m". Prints a report.
SOAK ?= -length 10m
soak:
	$(GO) run ./cmd/internal/tools/soak $(SOAK)

# test-examples: the examples with modules of their own.
test-examples:
	@sh cmd/internal/tools/scripts/examples.sh

# dist: a release, with packages for pip, npm and Debian; VERSION is three numbers.
VERSION ?= 0.0.0
dist:
	@PACKAGES=$(VERSION) sh cmd/internal/tools/scripts/release.sh dist

# test-packages: builds the packages for this machine, installs them into fresh environments and
# uses them; leaves out what cannot be had here, with the reason.
test-packages:
	$(GO) test -count=1 -v -timeout 10m ./cmd/internal/tools/packages

# release: binaries for each platform, built twice and compared, with man pages,
# completions, an SBOM and checksums, in dist.
release:
	@sh cmd/internal/tools/scripts/release.sh dist

# lint: golangci-lint, and known vulnerabilities that the code can reach.
lint:
	$(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run
	@sh cmd/internal/tools/scripts/vulns.sh bin/vulns

clean:
	rm -rf bin dist
