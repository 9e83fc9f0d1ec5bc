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
    for (const colour of [cividis(share), puOr(2 * share - 1)]) {
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
