import { describe, expect, it } from "vitest";
import { csv, exact, neutral } from "../src/pure/csv";
import { matrixOf } from "../src/pure/matrix";
import { escaped, fitting, framed, svgOf, wide } from "../src/pure/drawing";
import { gridRows, heatDrawing } from "../src/pure/heat";
import { standalone } from "../src/pure/standalone";
import { share } from "../src/pure/text";
import type { Question, Site, Trace } from "../src/state/api";
import type { Heads } from "../src/state/picture.svelte";
import { literal, quoted, sitePython, tracePython } from "../src/state/python";

describe("a table that leaves", () => {
  it.each(["=HYPERLINK(1)", "+1", "-1+2", "@SUM(A1)", "\t=1", "  =1", "\r=1"])(
    "makes %j text",
    (text) => expect(neutral(text)).toBe(`'${text}`),
  );
  it("leaves words and numbers alone", () => {
    expect(neutral("cat")).toBe("cat");
    expect(csv([["cat", -0.5, 1e-7]])).toBe("cat,-0.5,1e-7\r\n");
  });
  it("quotes what would break a row", () => {
    expect(csv([['say "a,b"', "x\ny"]])).toBe('"say ""a,b""","x\ny"\r\n');
    expect(csv([["=1", Number.NEGATIVE_INFINITY]])).toBe('"\'=1",\r\n');
  });
});

describe("numbers that leave", () => {
  /** Every finite float32 is as likely as any other: random bits. */
  function* floats(count: number): Generator<number> {
    const bits = new Uint32Array(1);
    const value = new Float32Array(bits.buffer);
    for (let at = 0, state = 1; at < count; at++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      bits[0] = state;
      if (Number.isFinite(value[0]!)) yield value[0]!;
    }
  }
  it("are read back as the same float32, to the last bit, from as few digits as possible", () => {
    for (const value of floats(5_000)) {
      const text = exact(value);
      expect(Math.fround(Number(text))).toBe(value);
      const digits = text
        .replace(/e.*/, "")
        .replace(/[-.]/g, "")
        .replace(/^0+|0+$/g, "").length;
      if (digits > 1 && !Number.isInteger(value) && Math.abs(value) > 1.2e-38) {
        expect(Math.fround(Number(value.toPrecision(digits - 1)))).not.toBe(value);
      }
    }
    // As NumPy writes the same.
    const known = { 0.987: "0.987", 0.1: "0.1", 0.70227104: "0.70227104", 1e-7: "1e-7", 1: "1" };
    for (const [value, text] of Object.entries(known)) {
      expect(exact(Math.fround(Number(value)))).toBe(text);
    }
    expect(exact(0.1 + 0.2)).toBe("0.30000000000000004");
  });
  it("make rows of a table that sum to 1, and show three digits that are right", () => {
    const scores = Float32Array.from([...floats(60)].slice(0, 40), (value) => value % 7);
    const table = [0, 1, 2, 3].map((row) => {
      const powers = [...scores.subarray(row * 10, row * 10 + 10)].map(Math.exp);
      const total = powers.reduce((a, b) => a + b);
      return powers.map((power) => Math.fround(power / total));
    });
    const map = { matrix: matrixOf(table), rows: [..."abcd"], columns: [..."efghijklmn"] };
    const lines = csv([...gridRows("", map)])
      .trim()
      .split("\r\n")
      .slice(1);
    lines.forEach((line, row) => {
      const cells = line.split(",").slice(1).map(Number);
      expect(cells.map(Math.fround)).toEqual(table[row]);
      expect(Math.abs(cells.reduce((a, b) => a + b) - 1)).toBeLessThan(1e-6);
      cells.forEach((cell) => {
        if (cell >= 0.0005)
          expect(Math.abs(Number(share(cell)) - cell)).toBeLessThanOrEqual(0.0005);
      });
    });
  });
});

it("as much of a text as there is room for", () => {
  expect(fitting("cat", 17, 60)).toBe("cat");
  const long = "unbelievably-long ".repeat(4);
  const cut = fitting(long, 17, 120);
  expect(cut.endsWith("…")).toBe(true);
  expect(wide(cut, 17)).toBeLessThan(130);
  expect(fitting("👨‍👩‍👧 family of three", 17, 1).endsWith("…")).toBe(true);
});

describe("a drawing that leaves", () => {
  const hostile = ["</text><script>alert(1)</script>", "\u0000\"'&", "<img onerror=x>"];
  const inks = { ink: "rgb(1, 2, 3)", paper: "white", soft: "grey" };
  const drawing = heatDrawing(
    { matrix: matrixOf([[0.1, 0.2, 0.7]]), rows: [hostile[0]!], columns: hostile },
    () => "data:,",
  );
  const svg = svgOf(framed(drawing, hostile[0]!, [hostile[2]!]), inks);

  it("holds tokens as text alone", () => {
    const found = new DOMParser().parseFromString(svg, "image/svg+xml");
    expect(found.querySelector("parsererror")).toBeNull();
    expect(found.querySelectorAll("script, img").length).toBe(0);
    expect(found.documentElement.textContent).toContain(hostile[0]);
    expect(found.documentElement.textContent).toContain("queries ↓   keys →");
  });
  it("brings its colours", () => {
    expect(svg).not.toContain("var(");
    expect(svg).toContain('fill="rgb(1, 2, 3)"');
  });
  it("escapes each mark once, and half a letter not at all", () => {
    expect(escaped("<&>")).toBe("&lt;&amp;&gt;");
    expect(escaped("a\ud800b")).toBe("a\ufffdb");
  });
  it("draws very many cells as one picture", () => {
    const many = Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => 0.5));
    const names = many.map((_, at) => String(at));
    const map = { matrix: matrixOf(many), rows: names, columns: names };
    const text = svgOf(
      heatDrawing(map, () => "data:image/png;base64,AA"),
      inks,
    );
    expect(text.match(/<image /g)?.length).toBe(1);
    expect(text).toContain('href="data:image/png;base64,AA"');
  });
  it("stands alone as a page", () => {
    const table = [
      ["=1", hostile[0]!],
      [0.123456789, Number.NaN],
    ];
    const page = standalone({ title: hostile[0]!, svg, table, python: hostile[2]! }, inks);
    const found = new DOMParser().parseFromString(page, "text/html");
    expect(found.querySelectorAll("script, img, link, iframe, [src]").length).toBe(0);
    expect(found.title).toBe(hostile[0]);
    expect(found.querySelector("td:nth-child(2)")!.textContent).toBe(hostile[0]);
    expect(found.querySelector("td.number")!.textContent).toBe("0.123456789");
    expect(found.querySelector("pre")!.textContent).toBe(hostile[2]);
  });
});

it("Python gets a text that Python reads", () => {
  expect(quoted('a "b"\n\\ é')).toBe('"a \\"b\\"\\n\\\\ é"');
  expect(quoted("👩\u200d👧 \u{e0001}")).toBe('"👩\\u200d👧 \\U000e0001"');
  expect(literal({ words: ["true", "null"], flag: true, none: null, n: [1, -0.5] })).toBe(
    '{"words": ["true", "null"], "flag": True, "none": None, "n": [1, -0.5]}',
  );
});

describe("Python that makes a trace", () => {
  const trace = (to: string, asked: Partial<Question> = {}): Trace =>
    ({
      to,
      asked: { run: "runs/demo", text: "x", to: "", beam: 2, prefix: [], ...asked },
    }) as unknown as Trace;

  it("names the language that was used, whoever chose it", () => {
    expect(tracePython(trace("de"))).toContain('regard.trace("runs/demo", "x", beam=2, to="de")');
    expect(tracePython(trace("", { prefix: ["▁le"] }))).toContain(
      'regard.trace("runs/demo", "x", beam=2, prefix=["▁le"])',
    );
  });
  it("takes the heads and the words that are shown", () => {
    const site = { path: "reader.attention" } as Site;
    const map = (head: Heads, words = false) => sitePython(site, head, words)[1];
    expect(map(3)).toContain("weights = site.weights[3] ");
    expect(map("mean")).toContain("site.weights.mean(0)");
    expect(map([0, 5])).toContain("site.weights[[0, 5]].mean(0)");
    expect(map([0, 5], true)).toContain("seen.by_words(site)[[0, 5]].mean(0)");
  });
});
