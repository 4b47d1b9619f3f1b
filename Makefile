# Stele: `make demo` and `make test` are the whole set-up. Everything is built under build/.
BUILD   ?= build
JOBS    ?= $(shell nproc)
PREFIX  ?= /usr/local
PYTHON   = $(BUILD)/venv/bin/python

.PHONY: all deps venv build guide demo check test unit sqltest difftest conformance tpchtest bench-tpch lint format install uninstall deb asan tsan fuzz soak clean

all: build

deps:
	@tools/install-deps.sh

venv: deps
	@tools/make-venv.sh $(BUILD)/venv

$(BUILD)/release/build.ninja: CMakeLists.txt
	@cmake -G Ninja -S . -B $(BUILD)/release -DCMAKE_BUILD_TYPE=Release >/dev/null

build: deps
	@cmake -G Ninja -S . -B $(BUILD)/release -DCMAKE_BUILD_TYPE=Release >/dev/null
	@ninja -C $(BUILD)/release -j $(JOBS)
	@ln -sf release/stele $(BUILD)/stele

# the guide as HTML: $(BUILD)/guide/index.html
guide: build venv
	@$(PYTHON) tools/guide.py --build $(BUILD)

demo: build venv
	@$(PYTHON) bench/tpch/demo.py --stele $(BUILD)/stele --data $(BUILD)/tpch/sf1 --scale 1

# what finds most in a few minutes, for daily work; `make test` is everything
check: build venv
	@tools/install-deps.sh test
	@$(PYTHON) tests/run_all.py --build $(BUILD) --quick

test: build venv
	@tools/install-deps.sh test
	@$(PYTHON) tests/run_all.py --build $(BUILD)

# the share of statements, by feature, on which Stele agrees with PostgreSQL 15; ROWS='--row json -v' for one of them
conformance: build venv
	@$(PYTHON) tests/conformance/run.py --build $(BUILD) $(ROWS)

bench-tpch: build venv
	@$(PYTHON) bench/tpch/compare.py --build $(BUILD) --data $(BUILD)/tpch/sf1 --scale 1

lint: build venv
	@$(PYTHON) tools/lint.py

# Below $(DESTDIR)$(PREFIX); nothing else is touched. After an install into the system's directories: ldconfig.
install: build
	@cmake -G Ninja -S . -B $(BUILD)/release -U 'CMAKE_INSTALL_*DIR' -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD)/release >/dev/null

uninstall:
	@tools/uninstall.sh $(BUILD)/release "$(DESTDIR)" $(PREFIX)

# stele, libstele0 and libstele-dev, into $(BUILD)/packages
deb: build
	@tools/install-deps.sh test
	@tools/package-deb.sh $(BUILD)/release $(BUILD)/packages

format: venv
	@tools/format.sh

asan: deps
	@cmake -G Ninja -S . -B $(BUILD)/asan -DCMAKE_BUILD_TYPE=Debug -DSTELE_SANITIZE=address >/dev/null
	@ninja -C $(BUILD)/asan -j $(JOBS)
	@tests/run_all.py --build $(BUILD) --preset asan

tsan: deps
	@cmake -G Ninja -S . -B $(BUILD)/tsan -DCMAKE_BUILD_TYPE=Debug -DSTELE_SANITIZE=thread >/dev/null
	@ninja -C $(BUILD)/tsan -j $(JOBS)
	@tests/run_all.py --build $(BUILD) --preset tsan

# new random statements against PostgreSQL for SECONDS; what differs is in $(BUILD)/diff, each as short as it gets
SECONDS ?= 3600
soak: build
	@tests/diff/diff.py --build $(BUILD) --seconds $(SECONDS) --seed $$(date +%s) --reduce 60 --max-failures 1000 --keep-going

clean:
	rm -rf $(BUILD)
