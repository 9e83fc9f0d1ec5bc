// The other views: lines between tokens, all heads of the model at a glance, and the neurons of a score.

const HUES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999933", "#882255"];
const MOST_KEYS = 40;
const SMALL = 54; // pixels of a thumbnail

function drawLines(host, numbers, state, move) {
  const site = trace.sites[state.site];
  const heads = state.head === MEAN ? [...Array(site.heads).keys()] : [state.head];
  const all = heads.map((head) => numbers.matrix(state.site, head, state.words));
  const { left, top } = all[0];
  const pitch = 26;
  const height = Math.max(left.length, top.length) * pitch;
  const canvas = make("canvas", { className: "wires", "aria-hidden": "true" });
  const board = make("div", { className: "board" });
  const middle = 260;
  const sharp = window.devicePixelRatio || 1;
  canvas.width = middle * sharp;
  canvas.height = height * sharp;
  canvas.style.height = `${height}px`;
  const right = make("ol", { className: "tokens" });
  const items = top.map((text) => make("li", {}, token(text)));
  right.append(...items);
  const draw = () => {
    const context = canvas.getContext("2d");
    context.setTransform(sharp, 0, 0, sharp, 0, 0);
    context.clearRect(0, 0, middle, height);
    const strengths = new Float32Array(top.length);
    all.forEach(({ values, columns }, place) => {
      context.strokeStyle = HUES[heads[place] % HUES.length];
      for (let i = 0; i < left.length; i += 1) {
        const own = i === state.query;
        for (let j = 0; j < columns; j += 1) {
          const weight = values[i * columns + j];
          if (own) strengths[j] = Math.max(strengths[j], weight);
          const strength = own ? weight : weight * (state.pinned ? 0.08 : 0.45);
          if (strength < 0.015) continue;
          context.globalAlpha = Math.min(1, strength);
          context.lineWidth = own ? 3 : 1.5;
          context.beginPath();
          context.moveTo(0, (i + 0.5) * pitch);
          context.bezierCurveTo(middle / 3, (i + 0.5) * pitch, (2 * middle) / 3, (j + 0.5) * pitch, middle, (j + 0.5) * pitch);
          context.stroke();
        }
      }
    });
    items.forEach((item, j) => { item.style.setProperty("--strength", strengths[j].toFixed(3)); });
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === state.query)));
  };
  const choose = (i, pinned) => {
    state.query = i;
    state.pinned = pinned;
    state.key = strongest(all[0], i);
    draw();
    move();
  };
  const buttons = left.map((text, i) => {
    const button = make("button", { type: "button", className: "token" }, token(text));
    button.addEventListener("pointerenter", () => choose(i, true));
    button.addEventListener("focus", () => choose(i, true));
    return button;
  });
  const first = make("ol", { className: "tokens asking" });
  first.append(...buttons.map((button) => make("li", {}, button)));
  board.append(first, canvas, right);
  const parts = [board];
  if (heads.length > 1) {
    const key = make("p", { className: "hues" }, "heads ");
    heads.forEach((head) => {
      const swatch = make("span", { className: "hue" }, String(head));
      swatch.style.setProperty("--hue", HUES[head % HUES.length]);
      key.append(swatch);
    });
    parts.unshift(key);
  }
  host.replaceChildren(...parts);
  draw();
}

function strongest({ values, columns }, i) {
  let best = 0;
  for (let j = 1; j < columns; j += 1) if (values[i * columns + j] > values[i * columns + best]) best = j;
  return best;
}

function drawModel(host, numbers, choose) {
  const table = make("div", { className: "model" });
  trace.sites.forEach((site, place) => {
    const row = make("div", { className: "heads" });
    for (let head = 0; head < site.heads; head += 1) {
      const title = `${site.path}, head ${head}`;
      row.append(thumbnail(numbers, place, head, title, () => choose(place, head)));
    }
    const name = make("div", { className: "site" }, make("strong", {}, kindOf(site)), make("small", {}, site.path));
    table.append(name, row);
  });
  host.replaceChildren(table);
}

// The largest weight of each stretch: a thumbnail of a thousand tokens must not lose the few that count.
function pooled({ values, rows, columns }) {
  const height = Math.min(rows, SMALL);
  const width = Math.min(columns, SMALL);
  const most = new Float32Array(height * width);
  for (let n = 0; n < values.length; n += 1) {
    const row = Math.floor((Math.floor(n / columns) * height) / rows);
    const place = row * width + Math.floor(((n % columns) * width) / columns);
    if (values[n] > most[place]) most[place] = values[n];
  }
  return { values: most, rows: height, columns: width };
}

function thumbnail(numbers, site, head, title, choose, label = String(head)) {
  const canvas = make("canvas", { "aria-hidden": "true" });
  const matrix = pooled(numbers.matrix(site, head, false));
  paint(canvas, matrix, topOf(matrix.values));
  const button = make("button", { type: "button", className: "thumbnail", title, "aria-label": title }, canvas, make("span", {}, label));
  button.addEventListener("click", choose);
  return button;
}

function kindOf(site) {
  const said = {
    "encoder-self": "source looks at itself", "decoder-self": "output looks back", cross: "output looks at source",
    rnn: "output looks at source", pointer: "output points at source", pool: "answer looks at source",
  };
  return `${said[site.kind] ?? site.kind}, layer ${site.layer}`;
}

// Query, key, what each neuron makes of them, their sum, and its share: how one score comes about.
function drawNeurons(host, numbers, state, move) {
  const site = trace.sites[state.site];
  const query = numbers.floats(state.site, "query");
  if (query === null) {
    host.replaceChildren(make("p", { className: "note" }, "The neurons were left out: they would make this page too large."));
    return;
  }
  const { head } = state;
  const [, rows, columns] = site.shape;
  const width = site.width;
  const keys = numbers.floats(state.site, "key").subarray(head * columns * width, (head + 1) * columns * width);
  const asked = query.subarray((head * rows + state.query) * width, (head * rows + state.query + 1) * width);
  const gain = numbers.floats(state.site, "neuron_weight")?.subarray(head * width, (head + 1) * width);
  const bias = numbers.floats(state.site, "bias");
  const { values, left, top } = numbers.matrix(state.site, head, false);
  const rest = [...Array(columns).keys()];
  rest.sort((a, b) => values[state.query * columns + b] - values[state.query * columns + a]);
  const chosen = rest.slice(0, MOST_KEYS).sort((a, b) => a - b);
  const made = chosen.map((j) => Float32Array.from({ length: width }, (_, n) => {
    const own = keys[j * width + n];
    return gain ? Math.tanh(asked[n] + own) * gain[n] : asked[n] * own * site.scale;
  }));
  const peak = (all) => Math.max(1e-9, ...all.map((row) => row.reduce((most, value) => Math.max(most, Math.abs(value)), 0)));
  const keyRows = chosen.map((j) => keys.subarray(j * width, (j + 1) * width));
  const largest = peak([asked, ...keyRows]);
  const share = peak(made);
  const product = gain ? "v · tanh(query + key)" : site.scale === 1 ? "query × key" : `query × key × ${site.scale.toFixed(3)}`;
  const heading = make("tr", {}, ...["", "key", product, bias ? "sum + distance" : "sum", `${site.normaliser}`].map((text) => make("th", { scope: "col" }, text)));
  const body = chosen.map((j, place) => {
    const extra = bias ? bias[(head * rows + state.query) * columns + j] : 0;
    const sum = made[place].reduce((total, value) => total + value, 0) + extra;
    const weight = values[state.query * columns + j];
    const bar = make("span", { className: "bar" });
    bar.style.inlineSize = `${Math.max(1, weight * 120)}px`;
    return make("tr", {},
      make("th", { scope: "row" }, token(top[j])),
      make("td", {}, strip(keyRows[place], largest)),
      make("td", {}, strip(made[place], share)),
      make("td", { className: "count" }, sum.toFixed(2)),
      make("td", { className: "share" }, bar, number(weight)));
  });
  const choice = make("select", { "aria-label": "query" });
  left.forEach((text, i) => choice.append(make("option", { value: String(i), selected: i === state.query }, text.trim() ? text : "␣")));
  choice.addEventListener("change", () => {
    state.query = Number(choice.value);
    drawNeurons(host, numbers, state, move);
    move();
    host.querySelector("select").focus();
  });
  const more = columns > chosen.length ? `The ${chosen.length} of ${columns} keys with the most weight. ` : "";
  host.replaceChildren(
    make("p", { className: "query" }, make("label", {}, "query ", choice), strip(asked, largest)),
    make("div", { className: "wide" }, make("table", { className: "neurons" }, make("thead", {}, heading), make("tbody", {}, ...body))),
    make("p", { className: "note" }, `${more}One stripe a neuron: orange is above zero, purple below; the sum of the third column is the score.`));
}

function strip(values, most) {
  const thick = Math.max(1, Math.min(14, Math.floor(230 / values.length)));
  const canvas = make("canvas", { className: "strip", "aria-hidden": "true" });
  canvas.width = values.length * thick;
  canvas.height = 18;
  const context = canvas.getContext("2d");
  values.forEach((value, n) => {
    const strength = Math.min(1, Math.abs(value) / most);
    const below = isDark() ? "158, 130, 220" : "84, 39, 136";
    context.fillStyle = `rgba(${value > 0 ? "224, 112, 20" : below}, ${strength.toFixed(3)})`;
    context.fillRect(n * thick, 0, thick, 18);
  });
  return canvas;
}
