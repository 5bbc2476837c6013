/** How well text can be read: the contrast ratio of WCAG, from the colours that the browser computed. */
import type { Frame, Page } from "playwright-core";

export interface Read {
  readonly text: string;
  readonly ratio: number;
}

export interface OnMark extends Read {
  readonly without: number;
}

/**
 * The contrast of every text that is seen in a document, worst first.
 *
 * Text of a page stands on the backgrounds of the elements around it, text of a drawing on those of
 * its own group that are filled, or on the page.
 */
export async function contrasts(frame: Frame | Page): Promise<readonly Read[]> {
  return frame.evaluate<readonly Read[]>(`(() => { ${LIBRARY} return readTexts(); })()`);
}

/**
 * The contrast of the words in a group of editors that stand on lines with a background of ours,
 * worst first, and what it is on the editor's own background.
 */
export async function onMarkedLines(page: Page, group: number, marked: string): Promise<readonly OnMark[]> {
  const element = `document.querySelectorAll(".editor-group-container")[${group}]`;
  return page.evaluate<readonly OnMark[]>(
    `(() => { ${LIBRARY} return readMarked(${element}, ${JSON.stringify(marked)}); })()`,
  );
}

// Runs in the page, which knows nothing of this file.
const LIBRARY = `
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = "#000";
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], [br, bg, bb]) => [r * a + br * (1 - a), g * a + bg * (1 - a), b * a + bb * (1 - a), 1];
  const light = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (text, background) => {
    const [a, b] = [light(over(text, background)), light(background)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  const behind = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) {
      const colour = rgba(getComputedStyle(each).backgroundColor);
      layers.push(colour);
      if (colour[3] === 1) break;
    }
    const floor = rgba(getComputedStyle(document.documentElement).getPropertyValue("--vscode-editor-background") || "#fff");
    return layers.reverse().reduce((below, layer) => over(layer, below), over(floor, [255, 255, 255, 1]));
  };
  const isSeen = (element) => {
    const box = element.getBoundingClientRect();
    const style = getComputedStyle(element);
    return box.width > 1 && box.height > 1 && style.visibility !== "hidden" && style.display !== "none" && style.opacity !== "0";
  };
  const readTexts = () => {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement;
      const text = node.textContent.trim();
      if (text === "" || !element || /^(style|script|option)$/i.test(element.tagName) || !isSeen(element)) continue;
      const page = behind(element.closest("svg")?.parentElement ?? element);
      const style = getComputedStyle(element);
      if (element.closest("svg")) {
        const grounds = [...(element.closest("g.bar, g.badge")?.querySelectorAll(".done, circle") ?? [])]
          .map((shape) => getComputedStyle(shape).fill)
          .filter((fill) => !fill.startsWith("url") && fill !== "none")
          .map((fill) => over(rgba(fill), page));
        const worst = Math.min(...(grounds.length ? grounds : [page]).map((ground) => ratio(rgba(style.fill), ground)));
        found.push({ text, ratio: worst });
      } else {
        found.push({ text, ratio: ratio(rgba(style.color), page) });
      }
    }
    return found.sort((a, b) => a.ratio - b.ratio);
  };
  const readMarked = (group, selector) => {
    const words = new Map();
    const lines = [...group.querySelectorAll(".view-line")];
    for (const mark of group.querySelectorAll(selector)) {
      const box = mark.getBoundingClientRect();
      const line = lines.find((each) => Math.abs(each.getBoundingClientRect().top - box.top) < 3);
      const paper = behind(group.querySelector(".monaco-editor"));
      const ground = over(rgba(getComputedStyle(mark).backgroundColor), paper);
      for (const word of line?.querySelectorAll("span > span") ?? []) {
        const text = word.textContent.trim();
        if (text !== "") {
          const colour = rgba(getComputedStyle(word).color);
          words.set(text, { text, ratio: ratio(colour, ground), without: ratio(colour, paper) });
        }
      }
    }
    return [...words.values()].sort((a, b) => a.ratio - b.ratio);
  };
`;
