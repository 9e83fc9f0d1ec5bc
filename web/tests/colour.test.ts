import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { cividis, contrast, css, inkOn, luminance, puOr, table } from "../src/pure/colour";

const shares = Array.from({ length: 101 }, (_, place) => place / 100);

describe("cividis", () => {
  it("goes from navy to yellow and grows lighter all the way", () => {
    expect(cividis(0)).toEqual([0, 0x22, 0x4e]);
    expect(cividis(1)).toEqual([0xfe, 0xe8, 0x38]);
    const light = shares.map((share) => luminance(cividis(share)));
    light.slice(1).forEach((value, place) => expect(value).toBeGreaterThanOrEqual(light[place]!));
  });
  it("clamps what lies outside, and takes what is no number as nothing", () => {
    expect(cividis(-3)).toEqual(cividis(0));
    expect(cividis(7)).toEqual(cividis(1));
    expect(cividis(Number.NaN)).toEqual(cividis(0));
  });
});

describe("PuOr by night", () => {
  const dark = (signed: number) => puOr(signed, true);
  it("begins at the page's own sheet", () => {
    const css = readFileSync("src/page.css", "utf8");
    const hex = /--sheet: light-dark\(#\w+, #(\w+)\)/.exec(css)![1]!;
    expect(dark(0)).toEqual([0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  });
  it("grows lighter to both ends, as far from the sheet on either side", () => {
    for (const sign of [-1, 1]) {
      const light = shares.map((share) => luminance(dark(sign * share)));
      light.slice(1).forEach((value, place) => expect(value).toBeGreaterThan(light[place]!));
      expect(contrast(dark(sign), dark(0))).toBeGreaterThan(9);
      expect(contrast(dark(sign * 0.6), dark(0))).toBeGreaterThan(3);
    }
    for (const share of shares) {
      expect(contrast(dark(-share), dark(share))).toBeLessThan(1.6);
    }
  });
  it("keeps orange and purple apart by blue, which almost all eyes see", () => {
    for (const share of shares.filter((one) => one >= 0.2)) {
      expect(dark(share)[2] - dark(-share)[2]).toBeGreaterThan(255 * 0.2 * Math.min(1, 2 * share));
    }
  });
});

describe("PuOr", () => {
  it("is near white at zero, orange below, purple above", () => {
    expect(puOr(0)).toEqual([0xf7, 0xf7, 0xf7]);
    const [red, , blue] = puOr(-1);
    expect(red).toBeGreaterThan(blue);
    const [redAbove, , blueAbove] = puOr(1);
    expect(blueAbove).toBeGreaterThan(redAbove);
  });
});

it("a number written on its own colour can be read (4.5 to 1)", () => {
  for (const share of shares) {
    for (const colour of [cividis(share), puOr(2 * share - 1), puOr(2 * share - 1, true)]) {
      expect(contrast(colour, inkOn(colour))).toBeGreaterThanOrEqual(4.5);
    }
  }
});

it("the table holds what the functions say, opaque", () => {
  for (const at of [0, 17, 128, 255]) {
    const weights = [...table("weights").slice(at * 4, at * 4 + 4)];
    const signed = [...table("signed").slice(at * 4, at * 4 + 4)];
    expect(weights).toEqual([...cividis(at / 255), 255]);
    expect(signed).toEqual([...puOr((2 * at) / 255 - 1), 255]);
  }
});

it("writes CSS", () => expect(css([1, 2, 3])).toBe("rgb(1 2 3)"));
