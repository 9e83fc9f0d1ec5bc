import { describe, expect, it } from "vitest";
import { loudest, unheard, wave } from "../src/pure/wave";

describe("a recording as WAV", () => {
  it("says its rate, its size and its samples", () => {
    const bytes = wave(new Float32Array([0, 0.5, -1, 3]), 16_000);
    const view = new DataView(bytes.buffer);
    const name = (place: number) => String.fromCharCode(...bytes.slice(place, place + 4));
    expect([name(0), name(8), name(12), name(36)]).toEqual(["RIFF", "WAVE", "fmt ", "data"]);
    expect(view.getUint32(4, true)).toBe(bytes.length - 8);
    expect(view.getUint32(24, true)).toBe(16_000);
    expect(view.getUint32(40, true)).toBe(8);
    expect([0, 1, 2, 3].map((place) => view.getInt16(44 + place * 2, true))).toEqual([
      0, 16384, -32767, 32767,
    ]);
  });

  it("knows silence", () => {
    expect(loudest(new Float32Array([0, 0]))).toBe(0);
    expect(loudest(new Float32Array([0.25, -0.5]))).toBe(0.5);
    expect(loudest(new Float32Array())).toBe(0);
  });

  it("says for every fault what to do", () => {
    const names = ["NotAllowedError", "NotFoundError", "NotReadableError", "insecure", "silence"];
    const words = [...names, "what nobody expected"].map(unheard);
    expect(new Set(words).size).toBe(words.length);
    expect(words.every((one) => /allow|connect|another|open|record/i.test(one))).toBe(true);
  });
});
