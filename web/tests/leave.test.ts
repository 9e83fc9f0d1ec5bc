import { describe, expect, it } from "vitest";
import { csv, neutral } from "../src/pure/csv";
import { matrixOf } from "../src/pure/matrix";
import { escaped, heatMapSvg } from "../src/pure/svg";
import { quoted, tracePython } from "../src/state/python";

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

describe("a drawing that leaves", () => {
  const hostile = ["</text><script>alert(1)</script>", "\u0000\"'&", "<img onerror=x>"];
  it("holds tokens as text alone", () => {
    const text = heatMapSvg(matrixOf([[0.1, 0.2, 0.7]]), [hostile[0]!], hostile, "weights");
    const found = new DOMParser().parseFromString(text, "image/svg+xml");
    expect(found.querySelector("parsererror")).toBeNull();
    expect(found.querySelectorAll("script, img").length).toBe(0);
    expect(found.querySelector("text")!.textContent).toBe(hostile[0]);
  });
  it("escapes each mark once", () => expect(escaped("<&>")).toBe("&lt;&amp;&gt;"));
});

it("Python gets a text that Python reads", () => {
  expect(quoted('a "b"\n\\ é')).toBe('"a \\"b\\"\\n\\\\ é"');
  const selection = { text: "x", beam: 2, prefix: ["▁le"] };
  expect(tracePython("demo", selection)).toContain(
    'regard.trace("runs/demo", "x", beam=2, prefix=["▁le"])',
  );
});
