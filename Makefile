# `make run` shows TIRx Lens at work in a real VS Code; `make test` runs every test.
# Both set up what they need under .venv*, node_modules and .build, once.
PYTHON ?= python3
VSIX_TARGET ?= linux-x64
VSIX_TARGETS := linux-x64 linux-arm64 darwin-x64 darwin-arm64 win32-x64
export PYTHON

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test notices vsix vsix-all check format bench corpus clean distclean setup-run setup-test setup-check

BIN := .venv/bin
VERSION := $(shell sed -n 's/^  "version": "\(.*\)",/\1/p' package.json)
VSIX := .build/tirx-lens-$(VSIX_TARGET)-$(VERSION).vsix

# Each environment holds its own mark of being complete, so that deleting it makes it anew.
PYTHON_READY := .venv/.ready
OLD_TVM_READY := .venv-tvm-0.26/.ready
TVM_TIRX_READY := .venv-tvm-tirx/.ready
LINTERS_READY := .venv-linters/.ready
NODE_READY := node_modules/.ready
VSCODE_READY := .build/vscode/.ready
CHROMIUM_READY := .build/chromium.ready
SSHD_READY := .build/sshd.ready
EMACS_READY := .build/emacs.ready
CORPUS_READY := .build/corpus/.ready
LIBRARIES := .build/libraries-$(VSIX_TARGET)
INSTALLED := .build/run/installed

SERVER_SOURCES := $(shell find server client/python -type f -not -path '*/__pycache__/*')
CLIENT_SOURCES := $(shell find client/src client/walkthrough -type f) esbuild.mjs dev/notices.mjs tsconfig.json

help:
	@echo 'make run     set up, show the checks and one generated CUDA, and serve a real VS Code'
	@echo 'make test    static checks and all tests, those in the real VS Code included'
	@echo 'make vsix    package the extension;  make vsix-all  for each system and processor'
	@echo 'make check   static checks only;  make format  format and apply safe fixes'
	@echo 'make bench   measure, beside other language servers'
	@echo 'make clean   remove what was built;  make distclean  the environments too'

run: setup-run
	@exec $(BIN)/python dev/run.py

test: setup-test
	@$(BIN)/python dev/run_tests.py

vsix: $(VSIX)
	@echo $(VSIX)

vsix-all:
	@for target in $(VSIX_TARGETS); do $(MAKE) --no-print-directory vsix VSIX_TARGET=$$target || exit; done

# After a change of what the extension carries: tests hold the file against it.
notices: $(LIBRARIES) $(NODE_READY)
	node esbuild.mjs --notices $(LIBRARIES) THIRD_PARTY_NOTICES.txt

check: setup-check
	@$(BIN)/python dev/run_checks.py

format: setup-check
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	node_modules/.bin/eslint --fix .

bench: setup-check $(CORPUS_READY) $(LINTERS_READY)
	$(BIN)/python benchmarks/editing.py
	$(BIN)/python benchmarks/keystroke.py
	$(BIN)/python benchmarks/worker.py
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/machine_code.py
	$(BIN)/python benchmarks/check.py
	$(BIN)/python benchmarks/simulator.py
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/source_map.py

corpus: $(CORPUS_READY)

clean:
	rm -rf .build client/dist bundled

distclean: clean
	rm -rf .venv .venv-tvm-0.26 .venv-tvm-tirx .venv-linters node_modules

setup-run:
	@sh dev/steps.sh "Python environment=$(PYTHON_READY)" "Node packages=$(NODE_READY)" \
	  "Extension=$(VSIX)" "VS Code server=$(VSCODE_READY)" "Extension in VS Code=$(INSTALLED)"

setup-test:
	@sh dev/steps.sh "Python environment=$(PYTHON_READY)" "TVM 0.26 environment=$(OLD_TVM_READY)" \
	  "tvm_tirx environment=$(TVM_TIRX_READY)" \
	  "Node packages=$(NODE_READY)" "Extension for each system=vsix-all" \
	  "VS Code server=$(VSCODE_READY)" "Chromium=$(CHROMIUM_READY)" "OpenSSH server=$(SSHD_READY)" \
	  "Emacs=$(EMACS_READY)" \
	  "Corpus of kernels=$(CORPUS_READY)"

setup-check:
	@sh dev/steps.sh "Python environment=$(PYTHON_READY)" "Node packages=$(NODE_READY)"

$(PYTHON_READY): pyproject.toml dev/python_environment.sh
	sh dev/python_environment.sh .venv --editable '.[tvm,sass,dev]'

$(OLD_TVM_READY): dev/tvm-0.26.txt dev/python_environment.sh
	sh dev/python_environment.sh .venv-tvm-0.26 --requirement dev/tvm-0.26.txt

$(TVM_TIRX_READY): dev/tvm-tirx.txt dev/python_environment.sh
	sh dev/python_environment.sh .venv-tvm-tirx --requirement dev/tvm-tirx.txt

$(LINTERS_READY): dev/linters.txt dev/python_environment.sh
	sh dev/python_environment.sh .venv-linters --requirement dev/linters.txt

$(NODE_READY): package-lock.json
	npm ci --no-audit --no-fund --ignore-scripts
	touch $@

$(VSCODE_READY): dev/vscode/package-lock.json dev/vscode/spdlog.js dev/vscode.sh
	sh dev/vscode.sh

$(CHROMIUM_READY):
	command -v chromium || sh dev/debian_package.sh chromium
	mkdir -p $(@D)
	touch $@

$(SSHD_READY): dev/sshd.sh
	sh dev/sshd.sh
	mkdir -p $(@D)
	touch $@

$(EMACS_READY): dev/emacs.sh
	sh dev/emacs.sh
	mkdir -p $(@D)
	touch $@

$(CORPUS_READY): dev/corpus.py | $(PYTHON_READY)
	$(BIN)/python dev/corpus.py $(@D)
	touch $@

$(LIBRARIES): dev/bundled-libraries.txt dev/bundle.py dev/compiled_modules.py pyproject.toml | $(PYTHON_READY)
	$(BIN)/python dev/bundle.py libraries $(VSIX_TARGET) $@
	touch $@

$(VSIX): $(LIBRARIES) $(SERVER_SOURCES) $(CLIENT_SOURCES) $(NODE_READY) \
    package.json .vscodeignore README.md CHANGELOG.md LICENSE THIRD_PARTY_NOTICES.txt client/icon.png
	$(BIN)/python dev/bundle.py server $(LIBRARIES) bundled
	node esbuild.mjs
	node_modules/.bin/vsce package --target $(VSIX_TARGET) --no-dependencies \
	  --allow-missing-repository --out $@

$(INSTALLED): $(VSIX) $(VSCODE_READY) dev/editor.py
	$(BIN)/python dev/editor.py install $(VSIX)
	touch $@
