"use strict";
// Links the two columns: a line that has the focus or the pointer's click marks its counterparts.

const entries = (text) => new Map(JSON.parse(text));

class Kernel {
  constructor(main) {
    this.main = main;
    this.pythonOf = entries(main.querySelector("script").textContent); // CUDA line -> [[place], guessed]
    this.cudaOf = new Map();
    for (const [line, [places, guessed]] of this.pythonOf) {
      for (const [file, first, last] of places) {
        for (let python = first; python <= last; python += 1) {
          const key = `${file}:${python}`;
          this.cudaOf.set(key, [...(this.cudaOf.get(key) ?? []), { line, guessed, height: last - first }]);
        }
      }
    }
    main.addEventListener("click", (event) => this.choose(event.target.closest("li[data-line]"), true));
    main.addEventListener("keydown", (event) => this.move(event));
    for (const row of main.querySelectorAll("li[data-line]")) {
      const key = `${row.parentElement.dataset.file}:${row.dataset.line}`;
      const linked = this.isCuda(row) ? this.pythonOf.has(Number(row.dataset.line)) : this.cudaOf.has(key);
      row.classList.toggle("has", linked);
    }
    for (const button of main.querySelectorAll("nav button")) {
      button.addEventListener("click", () => this.choose(this.cudaRow(Number(button.dataset.to)), true));
    }
  }

  isCuda(row) {
    return row.parentElement.dataset.file === undefined;
  }

  cudaRow(line) {
    return this.main.querySelector(`.cuda li[data-line="${line}"]`);
  }

  pythonRow(file, line) {
    return this.main.querySelector(`ol[data-file="${file}"] li[data-line="${line}"]`);
  }

  counterparts(row) {
    const line = Number(row.dataset.line);
    if (this.isCuda(row)) {
      const [places, guessed] = this.pythonOf.get(line) ?? [[], false];
      return places.flatMap(([file, first, last]) =>
        Array.from({ length: last - first + 1 }, (_, index) => [this.pythonRow(file, first + index), guessed]),
      );
    }
    const all = this.cudaOf.get(`${row.parentElement.dataset.file}:${line}`) ?? [];
    const least = Math.min(...all.map(({ height }) => height));
    return all
      .filter(({ height }) => height === least)
      .map(({ line: cuda, guessed }) => [this.cudaRow(cuda), guessed]);
  }

  choose(row, reveal) {
    if (row === null) {
      return;
    }
    for (const marked of this.main.querySelectorAll(".linked, .guessed, .here")) {
      marked.classList.remove("linked", "guessed", "here");
    }
    row.classList.add("here");
    this.uncover(row);
    row.tabIndex = -1;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
    const others = this.counterparts(row).filter(([other]) => other !== null);
    for (const [other, guessed] of others) {
      other.classList.add(guessed ? "guessed" : "linked");
    }
    const shown = this.isCuda(row) ? others.at(-1) : others[0];
    if (reveal && shown !== undefined) {
      this.uncover(shown[0]);
      shown[0].scrollIntoView({ block: "center" });
    }
    history.replaceState(null, "", `#${this.main.id}-${this.isCuda(row) ? "cuda" : "python"}-${row.dataset.line}`);
  }

  uncover(row) {
    const fold = row.closest("details");
    if (fold !== null) {
      fold.open = true;
    }
  }

  move(event) {
    const row = event.target.closest("li[data-line]");
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (row === null || step === undefined) {
      return;
    }
    event.preventDefault();
    const rows = [...row.closest("section").querySelectorAll("li[data-line]")];
    this.choose(rows[rows.indexOf(row) + step] ?? row, true);
  }
}

const kernels = [...document.querySelectorAll("main")].map((main) => new Kernel(main));
const select = document.querySelector("select");

function show(index) {
  kernels.forEach(({ main }, each) => (main.hidden = each !== index));
}

select?.addEventListener("change", () => show(select.selectedIndex));
const asked = /^#(kernel-(\d+))-(cuda|python)-(\d+)$/.exec(location.hash);
show(asked === null ? 0 : Number(asked[2]));
if (asked !== null) {
  const kernel = kernels[Number(asked[2])];
  const row =
    asked[3] === "cuda" ? kernel?.cudaRow(Number(asked[4])) : kernel?.pythonRow(0, Number(asked[4]));
  kernel?.choose(row ?? null, true);
}
