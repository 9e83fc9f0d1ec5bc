// Whether two runs can be compared with sense, and in what they differ.

export interface Kind {
  readonly name: string;
  readonly task: string;
  readonly languages?: Readonly<Record<string, string>>;
  readonly pieces?: string;
  readonly learned?: string;
}

/** What keeps two runs from being of one kind. */
function differences(one: Kind, other: Kind): string[] {
  const codes = ({ languages = {} }: Kind): string => Object.keys(languages).sort().join(" ");
  return [
    one.task !== other.task && "have different tasks",
    codes(one) !== codes(other) && "know different languages",
    one.pieces !== other.pieces && "split text into tokens differently",
    one.learned !== other.learned && "were trained on different texts",
  ].filter((told) => told !== false);
}

/** In what two runs differ, as a sentence; nothing of two of a kind. */
export function unlike(one: Kind, other: Kind): string {
  const found = differences(one, other);
  const [last, before] = [found.at(-1), found.slice(0, -1).join(", ")];
  return last ? `These two models ${before ? `${before} and ` : ""}${last}.` : "";
}

/** The run that is most like this one, of those with its task. */
export function closest<Run extends Kind>(one: Run, runs: readonly Run[]): Run | undefined {
  const others = runs.filter(({ name, task }) => name !== one.name && task === one.task);
  const apart = new Map(others.map((other) => [other, differences(one, other).length]));
  return others.toSorted((a, b) => apart.get(a)! - apart.get(b)!)[0];
}
