import { expect, it } from "vitest";
import { jsonLines } from "../src/pure/lines";

function stream(text: string, size: number): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream({
    start(control) {
      for (let at = 0; at < bytes.length; at += size) control.enqueue(bytes.slice(at, at + size));
      control.close();
    },
  });
}

it("reads a line however the network cuts it", async () => {
  const objects = [{ a: "schön 你好 😀" }, { b: [1, 2] }, {}];
  const text = objects.map((one) => JSON.stringify(one)).join("\n");
  for (const end of ["", "\n", "\n\n"]) {
    for (const size of [1, 2, 3, 7, 1000]) {
      const found: unknown[] = [];
      for await (const line of jsonLines(stream(text + end, size))) found.push(line);
      expect(found).toEqual(objects);
    }
  }
});

it("lets go of the stream when nobody reads on", async () => {
  let cancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (control) => control.enqueue(new TextEncoder().encode("{}\n")),
    cancel: () => {
      cancelled = true;
    },
  });
  for await (const _ of jsonLines(endless)) break;
  expect(cancelled).toBe(true);
});
