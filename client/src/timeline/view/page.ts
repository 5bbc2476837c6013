/** The timeline as a page of its own: the text is beside it. */
import type { Place, Timeline, Why } from "./model";
import { View } from "./view";

/** What the page carries. */
interface Carried {
  readonly kernels: readonly { readonly name: string; readonly timeline: Timeline | null; readonly why: Why | null }[];
}

/** Show what the page carries. Each text is a list of lines with the file's name in `data-file`. */
export function showPage(): void {
  const data = document.querySelector("script[type='application/json']")?.textContent ?? "";
  const { kernels } = JSON.parse(data) as Carried;
  const texts = document.querySelector<HTMLElement>(".text");
  const file = texts?.querySelector<HTMLElement>("ol")?.dataset.file ?? "";
  const names = kernels.map(({ name }) => name);
  const view = new View(document.querySelector<HTMLElement>(".timeline") ?? document.body, {
    reveal: (place, takesFocus) => reveal(place, takesFocus),
    choose: (kernel) => showKernel(kernel),
  });

  const showKernel = (chosen: number): void => {
    const kernel = kernels[chosen];
    const { timeline = null, why = null } = kernel ?? {};
    const wrong = view.show({ kernels: names, chosen, file, timeline, why, stale: null });
    const first = [...(timeline?.places ?? [])].sort((a, b) => a.row - b.row).find((place) => place.file === file);
    const start = wrong ?? first;
    if (start !== undefined) {
      reveal(start, false);
    }
  };

  const lineOf = (place: Place, row: number): HTMLElement | null => {
    const list = [...(texts?.querySelectorAll<HTMLElement>("ol") ?? [])].find((each) => each.dataset.file === place.file);
    return list?.querySelector(`li[value="${row}"]`) ?? null;
  };

  const reveal = (place: Place, takesFocus: boolean): void => {
    texts?.querySelectorAll(".here").forEach((line) => line.classList.remove("here"));
    for (let row = place.row; row <= place.endRow; row += 1) {
      lineOf(place, row)?.classList.add("here");
    }
    const line = lineOf(place, place.row);
    line?.scrollIntoView({ block: "center" });
    view.cursor(place.file, place.row, place.row);
    if (takesFocus) {
      line?.focus({ preventScroll: true });
    }
  };

  const cursor = (line: HTMLElement | null): void => {
    const row = Number(line?.getAttribute("value"));
    const list = line?.parentElement;
    if (line !== null && list?.dataset.file !== undefined) {
      texts?.querySelectorAll(".here").forEach((each) => each.classList.remove("here"));
      line.classList.add("here");
      line.focus({ preventScroll: true });
      line.scrollIntoView({ block: "nearest" });
      view.cursor(list.dataset.file, row, row);
    }
  };

  texts?.addEventListener("click", ({ target }) => cursor(target instanceof Element ? target.closest("li") : null));
  texts?.addEventListener("keydown", (event) => {
    const line = event.target instanceof Element ? event.target.closest("li") : null;
    const next = event.key === "ArrowDown" ? line?.nextElementSibling : event.key === "ArrowUp" ? line?.previousElementSibling : null;
    if (next instanceof HTMLElement) {
      event.preventDefault();
      cursor(next);
    }
  });
  showKernel(0);
}
