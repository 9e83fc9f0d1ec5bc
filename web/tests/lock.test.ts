import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

interface Entry {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly resolved?: string;
}
const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
  packages: Record<string, Entry>;
};

it("names every platform's binary, so that npm ci works on all of them", () => {
  const names = new Set(
    Object.keys(lock.packages).map((path) => path.replace(/^.*node_modules\//, "")),
  );
  for (const entry of Object.values(lock.packages)) {
    for (const name of Object.keys(entry.optionalDependencies ?? {})) expect(names).toContain(name);
  }
});

it("names no host to fetch from", () => {
  expect(Object.values(lock.packages).filter((entry) => entry.resolved)).toEqual([]);
});
