// One state, four views. Nothing is fetched, stored, or written into the address.

const VIEWS = { map: "Heat map", lines: "Lines", model: "All heads", neurons: "Neurons" };
const state = { view: "map", site: 0, head: MEAN, words: false, query: 0, key: 0, pinned: false, ...start };
const { theme } = state;
if (theme) document.documentElement.style.colorScheme = theme;
const part = (id) => document.getElementById(id);
const system = window.matchMedia("(prefers-color-scheme: dark)");
let numbers = null;
let drawn = null;

function isDark() {
  const chosen = document.documentElement.style.colorScheme;
  return chosen ? chosen === "dark" : system.matches;
}

function tell() {
  const matrix = numbers.matrix(state.site, state.head, state.words);
  const row = matrix.values.subarray(state.query * matrix.columns, (state.query + 1) * matrix.columns);
  const asking = matrix.left[state.query] ?? "";
  const asked = matrix.top[state.key] ?? "";
  part("said").replaceChildren(token(asking), " looks at ", token(asked), " with ", make("b", {}, number(row[state.key] ?? 0)));
  const ranked = [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, 6);
  part("ranking").replaceChildren(make("h2", {}, token(asking), " looks at"), make("ol", {}, ...ranked.map((j) => {
    const bar = make("span", { className: "bar" });
    bar.style.inlineSize = `${Math.max(1, Math.min(1, row[j]) * 90)}px`;
    return make("li", { className: j === state.key ? "chosen" : "" }, token(matrix.top[j]), make("span", { className: "share" }, bar, number(row[j])));
  })));
  tellStep();
}

// What the step could have said instead, where a query is a step of the answer.
function tellStep() {
  const axis = trace.sites[state.site].queries;
  const step = axis === "target" && !state.words ? trace.steps[state.query] : axis === "one" ? trace.steps[0] : undefined;
  if (step === undefined) {
    part("step").replaceChildren();
    return;
  }
  const chance = (value) => (value === null ? 0 : Math.exp(value));
  const title = step.given ? "What the model would have said" : "What could be said here";
  part("step").replaceChildren(make("h2", {}, title), make("ol", {}, ...step.alternatives.slice(0, 6).map((other, n) => {
    const bar = make("span", { className: "bar other" });
    bar.style.inlineSize = `${Math.max(1, chance(other.log_probability) * 90)}px`;
    return make("li", { className: other.id === step.id ? "chosen" : "" }, token(steps[trace.steps.indexOf(step)][n]), make("span", { className: "share" }, bar, number(chance(other.log_probability))));
  })));
}

function drawHeads() {
  const site = trace.sites[state.site];
  const choose = (head) => () => { state.head = head; draw(); };
  const all = [];
  if (site.heads > 1 && state.view !== "model") {
    const name = state.view === "lines" ? "all" : "mean";
    for (let head = state.view === "neurons" ? 0 : MEAN; head < site.heads; head += 1) {
      const label = head === MEAN ? name : String(head);
      const button = thumbnail(numbers, state.site, head, head === MEAN ? `${name} of the heads` : `head ${head}`, choose(head), label);
      button.setAttribute("aria-pressed", String(head === state.head));
      all.push(button);
    }
  }
  part("heads").replaceChildren(...all);
}

function drawTable() {
  const host = part("table");
  const details = part("as-table");
  if (!details.open || drawn === null) {
    host.replaceChildren();
    return;
  }
  const { view } = drawn;
  if (view.values.length > 4000) {
    host.replaceChildren(make("p", { className: "note" }, "This map is too large to be a table here: save it as CSV."));
    return;
  }
  const heading = make("tr", {}, make("td"), ...view.top.map((text) => make("th", { scope: "col" }, token(text))));
  const body = view.left.map((text, i) => make("tr", {}, make("th", { scope: "row" }, token(text)),
    ...Array.from(view.values.subarray(i * view.columns, (i + 1) * view.columns), (value) => make("td", {}, number(value)))));
  host.replaceChildren(make("table", {}, make("thead", {}, heading), make("tbody", {}, ...body)));
}

function draw() {
  const site = trace.sites[state.site];
  const count = (axis) => (state.words ? trace.axes[axis].words : trace.axes[axis].pieces).length;
  state.head = Math.min(state.head, site.heads - 1);
  if (state.view === "neurons") state.head = Math.max(0, state.head); // a score belongs to one head
  state.query = Math.max(0, Math.min(state.query, count(site.queries) - 1));
  state.key = Math.max(0, Math.min(state.key, count(site.keys) - 1));
  document.body.dataset.view = state.view;
  for (const [name, button] of tabs) button.setAttribute("aria-pressed", String(name === state.view));
  part("site").value = String(state.site);
  const how = site.width > 0 ? ` · ${site.score} score, ${site.normaliser}` : "";
  part("path").textContent = `${site.path}${how}`;
  drawHeads();
  drawn = null;
  const host = part("view");
  if (state.view === "map") drawn = drawMap(host, numbers.matrix(state.site, state.head, state.words), state, tell);
  if (state.view === "lines") drawLines(host, numbers, state, tell);
  if (state.view === "neurons") drawNeurons(host, numbers, state, tell);
  if (state.view === "model") {
    drawModel(host, numbers, (place, head) => { Object.assign(state, { site: place, head, view: "map" }); draw(); });
  }
  drawTable();
  tell();
}

const tabs = Object.entries(VIEWS).map(([name, title]) => {
  const button = make("button", { type: "button" }, title);
  button.addEventListener("click", () => {
    if (name === "neurons") state.words = part("words").checked = false;
    state.view = name;
    draw();
  });
  return [name, button];
});

function listen() {
  part("site").addEventListener("change", (event) => { state.site = Number(event.target.value); draw(); });
  part("words").addEventListener("change", (event) => { state.words = event.target.checked; draw(); });
  part("as-table").addEventListener("toggle", drawTable);
  part("picture").addEventListener("click", () => drawn && savePicture(drawn));
  part("sheet").addEventListener("click", () => drawn && saveTable(drawn));
  part("theme").addEventListener("click", () => {
    document.documentElement.style.colorScheme = isDark() ? "light" : "dark";
    draw();
  });
  system.addEventListener("change", draw);
  let waiting = 0;
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(draw);
  });
}

async function begin() {
  part("question").replaceChildren(token(shown.question));
  if (shown.answer) part("answer").replaceChildren(token(shown.answer));
  else part("arrow").hidden = true;
  if (trace.sites.length === 0) {
    part("view").replaceChildren(make("p", { className: "note" }, "This model has no attention to look at."));
    return;
  }
  numbers = new Numbers(await readNumbers());
  trace.sites.forEach((site, place) => part("site").append(make("option", { value: String(place) }, kindOf(site))));
  part("site").hidden = part("site").parentElement.hidden = trace.sites.length === 1;
  const cut = Object.values(trace.axes).some((axis) => axis.words.length < axis.pieces.length);
  part("words").parentElement.hidden = !cut;
  part("words").checked = state.words;
  const several = trace.sites.some((site) => site.heads > 1) || trace.sites.length > 1;
  const deep = trace.sites.some((site) => site.width > 0);
  const useful = { map: true, lines: true, model: several, neurons: deep };
  part("tabs").append(...tabs.filter(([name]) => useful[name]).map(([, button]) => button));
  listen();
  draw();
}

begin().catch((fault) => {
  part("view").replaceChildren(make("p", { className: "note" }, `This browser cannot show the trace: ${fault.message}`));
});
