// Numbers along an axis that a model shows beside its weights: what it copied, whom it believed, what it has read.

import type { Ribbon } from "../schema";
import { matrixOf, type Matrix } from "./matrix";

const SHARE = "share of ";
const TITLES: Readonly<Record<string, string>> = {
  p_gen: "Generated or copied",
  gate: "Generated or pointed at",
  coverage: "Coverage",
};
const MEANINGS: Readonly<Record<string, string>> = {
  p_gen:
    "p_gen is the probability that a step generates a word of the vocabulary; otherwise it copies one from the text (See 2017).",
  gate: "The gate is the share of each step that is left to the vocabulary; the rest points at earlier words (Merity 2016).",
  coverage:
    "Coverage is the attention that each token of the text has received over all steps (See 2017).",
};

/** The ribbons along one axis that are read together. */
export interface Band {
  readonly axis: string;
  readonly title: string;
  readonly meaning: string;
  readonly names: readonly string[];
  readonly matrix: Matrix;
  /** Whether the numbers are parts of 1; coverage may exceed it. */
  readonly isShare: boolean;
}

/** The shares of the sources together, since they compete; every other ribbon with those of its axis. */
export function bands(ribbons: readonly Ribbon[]): Band[] {
  const shares = ribbons.filter(({ name }) => name.startsWith(SHARE));
  const others = ribbons.filter(({ name }) => !name.startsWith(SHARE));
  const found = [...new Set(others.map(({ axis }) => axis))].map((axis) => {
    const own = others.filter((one) => one.axis === axis);
    const names = own.map(({ name }) => name);
    return {
      axis,
      title: names.map((name) => TITLES[name] ?? name).join(", "),
      meaning: names.map((name) => MEANINGS[name] ?? "").join(" "),
      names,
      matrix: matrixOf(own.map(({ values }) => values)),
      isShare: !names.includes("coverage"),
    };
  });
  if (!shares.length) return found;
  const names = shares.map(({ name }) => name.slice(SHARE.length));
  const share: Band = {
    axis: shares[0]!.axis,
    title: "Share of attention of each source",
    meaning:
      "At each step the sources compete for attention: a column sums to 1. It is the mean over heads and layers.",
    names,
    matrix: matrixOf(shares.map(({ values }) => values)),
    isShare: true,
  };
  return [share, ...found];
}
