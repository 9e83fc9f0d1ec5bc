// The heat map: squares on a canvas, labels beside and above, and one cell under the cursor.

const SMALLEST = 3;
const LARGEST = 40;
const READABLE = 13; // a label needs so many pixels, one that leans a few more
const LEANING = 18;
const HIGH = 680; // more rows than fit make cells smaller, as long as labels can be read

function drawMap(host, matrix, state, move) {
  const upright = trace.sites[state.site].queries === "one" && matrix.rows === 1;
  const view = upright ? turned(matrix) : matrix;
  const top = topOf(view.values);
  const longest = Math.max(1, ...view.left.map((label) => Math.min(label.length, 22)));
  const margin = Math.min(190, 14 + longest * 8);
  const highest = Math.max(1, ...view.top.map((label) => Math.min(label.length, 22)));
  const head = Math.min(150, 18 + highest * 6);
  const room = Math.max(160, host.clientWidth - margin - 70);
  const fitting = Math.floor(room / Math.max(1, view.columns));
  const tall = Math.max(LEANING, Math.floor(HIGH / Math.max(1, view.rows)));
  const cell = Math.max(SMALLEST, Math.min(LARGEST, fitting, tall));
  const every = Math.ceil(READABLE / cell);
  const leaning = Math.ceil(LEANING / cell);

  const canvas = make("canvas", { "aria-hidden": "true" });
  paint(canvas, view, top);
  canvas.style.width = `${cell * view.columns}px`;
  canvas.style.height = `${cell * view.rows}px`;
  const frame = make("div", { className: "frame" });
  frame.style.width = `${margin + cell * view.columns + 70}px`;
  frame.style.height = `${head + cell * view.rows + 8}px`;
  const field = make("div", {
    className: "field", tabIndex: 0, role: "application",
    "aria-label": "Heat map: arrow keys move from cell to cell", "aria-describedby": "said",
  });
  field.style.left = `${margin}px`;
  field.style.top = `${head}px`;
  const mark = make("div", { className: "mark", "aria-hidden": "true" });
  mark.style.width = mark.style.height = `${cell}px`;
  field.append(canvas, mark);
  frame.append(field);
  const left = labels(frame, view.left, every, "left", (n, element) => {
    element.style.top = `${head + (n + 0.5) * cell}px`;
    element.style.width = `${margin - 8}px`;
  });
  const above = labels(frame, view.top, leaning, "above", (n, element) => {
    element.style.left = `${margin + (n + 0.5) * cell}px`;
    element.style.top = `${head - 6}px`;
  });
  host.replaceChildren(frame, legend(top, margin));
  if (leaning > 1) {
    host.append(make("p", { className: "note" }, `One label in ${leaning} is shown; the cursor names all.`));
  }

  const at = ([i, j]) => (upright ? [j, i] : [i, j]);
  const show = () => {
    const [i, j] = at([state.query, state.key]);
    mark.style.transform = `translate(${j * cell}px, ${i * cell}px)`;
    left.forEach((element, n) => element?.classList.toggle("chosen", n === i));
    above.forEach((element, n) => element?.classList.toggle("chosen", n === j));
  };
  const go = (i, j) => {
    const row = Math.min(view.rows - 1, Math.max(0, i));
    const column = Math.min(view.columns - 1, Math.max(0, j));
    [state.query, state.key] = at([row, column]);
    show();
    move();
  };
  const under = (event) => {
    const box = canvas.getBoundingClientRect();
    go(Math.floor((event.clientY - box.top) / cell), Math.floor((event.clientX - box.left) / cell));
  };
  field.addEventListener("pointermove", under);
  field.addEventListener("pointerdown", under);
  field.addEventListener("keydown", (event) => {
    const [i, j] = at([state.query, state.key]);
    const steps = {
      ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1], ArrowRight: [i, j + 1],
      Home: [i, 0], End: [i, view.columns - 1], PageUp: [0, j], PageDown: [view.rows - 1, j],
    };
    if (steps[event.key] === undefined) return;
    event.preventDefault();
    go(...steps[event.key]);
  });
  show();
  return { view, top };
}

function turned({ values, rows, columns, left, top, down, across }) {
  const other = new Float32Array(values.length);
  for (let n = 0; n < values.length; n += 1) other[(n % columns) * rows + Math.floor(n / columns)] = values[n];
  return { values: other, rows: columns, columns: rows, left: top, top: left, down: across, across: down };
}

function labels(frame, all, every, className, place) {
  return all.map((text, n) => {
    if (n % every) return null;
    const element = make("div", { className: `label ${className}`, title: text }, token(text));
    place(n, element);
    frame.append(element);
    return element;
  });
}

function legend(top, margin) {
  const canvas = make("canvas", { className: "scale", "aria-hidden": "true" });
  const values = Float32Array.from({ length: 120 }, (_, n) => n / 119);
  paint(canvas, { values, rows: 1, columns: 120 }, 1);
  const element = make("div", { className: "legend" }, "0", canvas, String(Number(top.toFixed(3))));
  element.style.marginInlineStart = `${margin}px`;
  return element;
}

// The map with its labels as a picture, drawn by the browser's own fonts.
function savePicture({ view, top }) {
  const cell = Math.max(2, Math.min(30, Math.floor(2400 / Math.max(view.rows, view.columns))));
  const font = "14px system-ui, sans-serif";
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d");
  context.font = font;
  const widest = (all) => Math.max(0, ...all.map((text) => context.measureText(text).width));
  const margin = 20 + widest(view.left);
  const head = 26 + 0.71 * widest(view.top);
  canvas.width = margin + cell * view.columns + 0.71 * widest(view.top) + 20;
  canvas.height = head + cell * view.rows + 20;
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  const squares = document.createElement("canvas");
  paint(squares, view, top);
  context.imageSmoothingEnabled = false;
  context.drawImage(squares, margin, head, cell * view.columns, cell * view.rows);
  context.fillStyle = "#1a1a1a";
  context.font = font;
  context.textAlign = "right";
  const every = Math.ceil(READABLE / cell);
  view.left.forEach((text, n) => n % every || context.fillText(text, margin - 8, head + (n + 0.5) * cell + 5));
  context.textAlign = "left";
  view.top.forEach((text, n) => {
    if (n % Math.ceil(LEANING / cell)) return;
    context.save();
    context.translate(margin + (n + 0.5) * cell + 2, head - 7);
    context.rotate(-Math.PI / 4);
    context.fillText(text, 0, 0);
    context.restore();
  });
  canvas.toBlob((picture) => offer(picture, "attention.png"));
}

// A spreadsheet must not take a word for a formula.
function saveTable({ view }) {
  const cellOf = (text) => `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  const lines = [["", ...view.top].map(cellOf).join(",")];
  view.left.forEach((text, i) => {
    const row = Array.from(view.values.subarray(i * view.columns, (i + 1) * view.columns));
    lines.push([cellOf(text), ...row.map((value) => value.toFixed(5))].join(","));
  });
  offer(new Blob([lines.join("\r\n")], { type: "text/csv" }), "attention.csv");
}

function offer(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = make("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
