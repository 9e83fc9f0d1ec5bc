// What the page was given: a description of the trace as JSON, and all numbers in one deflated block.
// Text from the trace only ever becomes text nodes; nothing here builds HTML from strings.

const given = JSON.parse(document.getElementById("description").textContent);
const { trace, names, steps, shown, start, layout, anchors } = given;
const MEAN = -1;

async function readNumbers() {
  const text = atob(document.getElementById("numbers").textContent.trim());
  const packed = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

class Numbers {
  constructor(buffer) {
    this.buffer = buffer;
    this.known = new Map();
  }

  floats(site, name) {
    const place = layout[site][name];
    return place === undefined ? null : new Float32Array(this.buffer, place[0], place[1]);
  }

  // Weights travel as sqrt(weight) in 16 bits, high bytes first, then low bytes: exact to 0.00002.
  weights(site) {
    if (!this.known.has(site)) {
      const [offset, count] = layout[site].weights;
      const high = new Uint8Array(this.buffer, offset, count);
      const low = new Uint8Array(this.buffer, offset + count, count);
      const values = new Float32Array(count);
      for (let n = 0; n < count; n += 1) {
        const root = (high[n] * 256 + low[n]) / 65535;
        values[n] = root * root;
      }
      this.known.set(site, values);
    }
    return this.known.get(site);
  }

  // One head of a site, or the mean of all, by pieces or by words; worked out once.
  matrix(site, head, words) {
    const name = `${site} ${head} ${words}`;
    if (!this.known.has(name)) this.known.set(name, this.work(site, head, words));
    return this.known.get(name);
  }

  work(site, head, words) {
    const [heads, rows, columns] = trace.sites[site].shape;
    const all = this.weights(site);
    const size = rows * columns;
    let values;
    if (head === MEAN) {
      values = new Float32Array(size);
      for (let n = 0; n < all.length; n += 1) values[n % size] += all[n] / heads;
    } else {
      values = all.subarray(head * size, (head + 1) * size);
    }
    const down = trace.sites[site].queries;
    const across = trace.sites[site].keys;
    const plain = { values, rows, columns, down, across };
    return words ? byWords(plain) : { ...plain, left: names[down].pieces, top: names[across].pieces };
  }
}

// A word is looked at by all its pieces together, and looks as its pieces do on average.
function byWords({ values, rows, columns, down, across }) {
  const asking = trace.axes[down];
  const asked = trace.axes[across];
  const height = asking.words.length;
  const width = asked.words.length;
  const merged = new Float32Array(height * width);
  const pieces = new Float32Array(height);
  for (const word of asking.word_ids) pieces[word] += 1;
  for (let i = 0; i < rows; i += 1) {
    const word = asking.word_ids[i];
    for (let j = 0; j < columns; j += 1) {
      merged[word * width + asked.word_ids[j]] += values[i * columns + j] / pieces[word];
    }
  }
  return {
    values: merged, rows: height, columns: width, down, across,
    left: names[down].words, top: names[across].words,
  };
}

// Cividis, as in the terminal; 256 steps of it, each as the four bytes of a dot.
const inks = Array.from({ length: 256 }, (_, step) => {
  const place = (step / 255) * (anchors.length - 1);
  const before = Math.min(Math.floor(place), anchors.length - 2);
  const mixed = anchors[before].map((low, part) => low + (anchors[before + 1][part] - low) * (place - before));
  return new Uint32Array(Uint8Array.from([...mixed.map(Math.round), 255]).buffer)[0];
});

// The round number just above the largest weight is the lightest colour.
function topOf(values) {
  let most = 0;
  for (const value of values) if (value > most) most = value;
  return [0.01, 0.02, 0.05, 0.1, 0.2, 0.5].find((top) => top >= most) ?? Math.max(1, most);
}

function paint(canvas, { values, rows, columns }, top) {
  canvas.width = Math.max(1, columns);
  canvas.height = Math.max(1, rows);
  const context = canvas.getContext("2d");
  const picture = context.createImageData(canvas.width, canvas.height);
  const dots = new Uint32Array(picture.data.buffer);
  for (let n = 0; n < values.length; n += 1) {
    const share = Math.min(1, Math.max(0, values[n] / top));
    dots[n] = inks[Math.round(share * 255)];
  }
  context.putImageData(picture, 0, 0);
}

// An element with its properties and children; a string child is a text node.
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element && name !== "role") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// Other people's text: it keeps its direction to itself, and nothing is seen as something.
function token(text) {
  return make("bdi", { dir: "auto" }, text.trim() ? text : "␣");
}

function number(value) {
  return value >= 0.0005 || value === 0 ? value.toFixed(3) : "<0.001";
}
