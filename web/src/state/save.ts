// What leaves the page: files made here in the browser, and text for the clipboard.

import { csv, type Cell } from "../pure/csv";

export function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\w.-]+/g, "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function saveText(text: string, name: string, kind: string): void {
  saveBlob(new Blob([text], { type: `${kind};charset=utf-8` }), name);
}

export function saveTable(rows: readonly (readonly Cell[])[], name: string): void {
  saveText(csv(rows), name, "text/csv");
}

/** The page's own drawing as a file that stands alone: colours and fonts are written into it. */
export function svgText(drawing: SVGSVGElement): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const kept = [
    "fill",
    "stroke",
    "stroke-width",
    "opacity",
    "font-size",
    "font-weight",
    "text-anchor",
  ];
  const originals = [drawing, ...drawing.querySelectorAll<SVGElement>("*")];
  [copy, ...copy.querySelectorAll<SVGElement>("*")].forEach((element, place) => {
    const style = getComputedStyle(originals[place]!);
    for (const property of kept) element.setAttribute(property, style.getPropertyValue(property));
    for (const { name } of [...element.attributes]) {
      if (name.startsWith("on") || name === "class" || name === "tabindex")
        element.removeAttribute(name);
    }
  });
  const { width, height } = drawing.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(Math.round(width)));
  copy.setAttribute("height", String(Math.round(height)));
  copy.setAttribute("font-family", "system-ui, sans-serif");
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of [
    ["width", "100%"],
    ["height", "100%"],
    ["fill", getComputedStyle(document.body).backgroundColor],
  ] as const) {
    paper.setAttribute(name, value);
  }
  copy.prepend(paper);
  return new XMLSerializer().serializeToString(copy);
}

export function savePng(canvas: HTMLCanvasElement, name: string): void {
  canvas.toBlob((blob) => blob && saveBlob(blob, name), "image/png");
}

/** A drawing as pixels, twice as fine as on the screen. */
export function savePngOf(drawing: SVGSVGElement, name: string): void {
  const picture = new Image();
  const text = svgText(drawing);
  const { width, height } = drawing.getBoundingClientRect();
  picture.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = width * 2;
    canvas.height = height * 2;
    canvas.getContext("2d")!.drawImage(picture, 0, 0, canvas.width, canvas.height);
    savePng(canvas, name);
  };
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

/** Copy, with the old way where a page may not use the clipboard. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
