// Stands in for the native module @vscode/spdlog, which its npm package leaves to a C++ compiler.
// Without it VS Code's logs and output channels stay empty. Written in place of its index.js by
// dev/vscode.sh, into this repository's VS Code only.
const fs = require("node:fs");
const path = require("node:path");

const LEVELS = ["trace", "debug", "info", "warning", "error", "critical"];

class Logger {
  #file;
  #level = 2;
  #raw = false;

  constructor(_type, _name, file) {
    this.#file = file;
    fs.mkdirSync(path.dirname(file), { recursive: true });
  }

  #write(level, message) {
    if (level < this.#level) {
      return;
    }
    const time = new Date().toISOString().replace("T", " ").replace("Z", "");
    fs.appendFileSync(this.#file, this.#raw ? message : `${time} [${LEVELS[level]}] ${message}\n`);
  }

  trace(message) { this.#write(0, message); }
  debug(message) { this.#write(1, message); }
  info(message) { this.#write(2, message); }
  warn(message) { this.#write(3, message); }
  error(message) { this.#write(4, message); }
  critical(message) { this.#write(5, message); }
  getLevel() { return this.#level; }
  setLevel(level) { this.#level = level; }
  clearFormatters() { this.#raw = true; }
  setPattern() {}
  flush() {}
  drop() {}
}

const create = async (name, file) => new Logger("rotating", name, file);

// One assignment each: that is how an ES module's import finds a CommonJS module's names.
exports.version = 0;
exports.setLevel = () => {};
exports.setFlushOn = () => {};
exports.Logger = Logger;
exports.createRotatingLogger = create;
exports.createAsyncRotatingLogger = create;
