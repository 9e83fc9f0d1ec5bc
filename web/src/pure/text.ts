// Tokens as people can read them: marks of word beginnings become spacing, hidden controls become visible.

const NAMED: Readonly<Record<string, string>> = {
  "\n": "↵",
  "\r": "␍",
  "\t": "⇥",
  "\u00a0": "⍽",
  "\u00ad": "[SHY]",
  "\u061c": "[ALM]",
  "\u200b": "[ZWSP]",
  "\u200c": "[ZWNJ]",
  "\u200d": "[ZWJ]",
  "\u200e": "[LRM]",
  "\u200f": "[RLM]",
  "\u202a": "[LRE]",
  "\u202b": "[RLE]",
  "\u202c": "[PDF]",
  "\u202d": "[LRO]",
  "\u202e": "[RLO]",
  "\u2066": "[LRI]",
  "\u2067": "[RLI]",
  "\u2068": "[FSI]",
  "\u2069": "[PDI]",
  "\ufeff": "[BOM]",
};
// A non-joiner between two letters of Persian is how the word is spelt.
const HIDDEN =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u00a0\u00ad\u061c\u200b\u200d-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|(?<!\p{Script=Arabic})\u200c|\u200c(?!\p{Script=Arabic})/gu;
/** A picture or a sound that is written into a text: thousands of letters that nobody reads. */
const HELD = /data:(image|audio)\/[^,\s"]*,[A-Za-z0-9+/=]*/g;
const STACK = /(\p{M}{3})\p{M}+/gu;
const WORD = "▁";

/** Every letter can be seen: controls by name, and no tower of accents over its neighbours. */
export function visible(text: string): string {
  return text.replace(HIDDEN, name).replace(STACK, "$1");
}

function name(letter: string): string {
  return NAMED[letter] ?? `[${letter.charCodeAt(0).toString(16).padStart(4, "0")}]`;
}

const OPENERS: Readonly<Record<string, string>> = {
  "\u202a": "\u202c",
  "\u202b": "\u202c",
  "\u202d": "\u202c",
  "\u202e": "\u202c",
  "\u2066": "\u2069",
  "\u2067": "\u2069",
  "\u2068": "\u2069",
};

/** Whether every mark that turns the direction of writing is closed again, and no other is. */
function isBalanced(text: string): boolean {
  const open: string[] = [];
  for (const letter of text) {
    if (OPENERS[letter]) open.push(OPENERS[letter]);
    else if (/[\u202c\u2069]/.test(letter) && open.pop() !== letter) return false;
  }
  return open.length === 0;
}

/**
 * A sentence as people read it: joiners stay, since emoji and Persian are spelled with them. Named are only
 * control codes, which have no shape, and marks of direction that would turn the text around them.
 */
export function readable(spelled: string): string {
  const text = spelled.replace(HELD, (_, kind) => (kind === "image" ? "(picture)" : "(sound)"));
  const open = isBalanced(text) ? /(?!)/ : /[\u202a-\u202e\u2066-\u2069]/;
  const named = text.replace(HIDDEN, (letter) =>
    (/[\p{Cf}\s]/u.test(letter) && !open.test(letter)) || letter === "\n" ? letter : name(letter),
  );
  return named.replace(STACK, "$1");
}

/** A question of several sources, written as one JSON object: each by its name. Nothing for any other text. */
export function sourcesOf(question: string): readonly (readonly [name: string, text: string])[] {
  if (!question.trimStart().startsWith("{")) return [];
  try {
    const parsed: unknown = JSON.parse(question);
    if (typeof parsed !== "object" || parsed === null) return [];
    return Object.entries(parsed).map(([name, one]: [string, unknown]) => [
      name,
      typeof one === "string" ? one : String(Object.values(one ?? {})[0] ?? ""),
    ]);
  } catch {
    return [];
  }
}

/** A question in one line, each of several sources by its name; a picture or a sound by the name of its file. */
export function askedText(
  question: string,
  axes: Readonly<Record<string, Kinded>> = {},
): string {
  const sources = sourcesOf(question);
  return sources.length
    ? sources.map(([name, text]) => `${visible(name)}: ${sourceText(text, axes[name])}`).join("; ")
    : sourceText(question, axes["source"]);
}

interface Kinded {
  readonly kind: string;
}

/** One source as a person reads it: a file by its name, not by where it lies. Spelled sounds have none. */
export function sourceText(text: string, axis?: Kinded): string {
  const isFile = ["grid", "times"].includes(axis?.kind ?? "") && !text.startsWith("spell:");
  return isFile ? (readable(text).split(/[\\/]/).pop() ?? "") : readable(text);
}

/** A piece as a label: the mark of a word's beginning goes; a piece inside a word gets a dot. */
export function label(piece: string, marked: boolean): string {
  if (!marked || isSign(piece)) return visible(piece) || "∅";
  if (piece.startsWith(WORD)) return visible(piece.slice(WORD.length)) || "␣";
  return `·${visible(piece)}`;
}

/** Whether some pieces mark the beginnings of words; only then do they have insides of words. */
export function isMarked(pieces: readonly string[]): boolean {
  return pieces.some((piece) => piece.startsWith(WORD));
}

/** The labels of a whole axis. */
export function labels(pieces: readonly string[]): string[] {
  const marked = isMarked(pieces);
  return pieces.map((piece) => label(piece, marked));
}

/** Symbols as the text that they spell, as far as they alone tell: with marks of word beginnings, or a word each. */
export function spelling(symbols: readonly string[], marked = isMarked(symbols)): string {
  const said = symbols.filter((one) => !isSign(one));
  return said
    .join(marked ? "" : " ")
    .replaceAll(WORD, " ")
    .trim();
}

const UNKNOWN = "<unk>";

/** The labels of pieces whose words are known: beside `<unk>` stands the word as it was typed. */
export function pieceLabels(axis: {
  readonly pieces: readonly string[];
  readonly word_ids: readonly (number | null)[];
  readonly words: readonly string[];
}): string[] {
  return labels(axis.pieces).map((found, place) => {
    const word = axis.words[axis.word_ids[place] ?? -1] ?? "";
    return found === UNKNOWN && word && word !== UNKNOWN ? `${UNKNOWN} ${visible(word)}` : found;
  });
}

/** What the signs among some labels mean, for a reader who meets them for the first time. */
export function signs(names: readonly string[], languages: Readonly<Record<string, string>> = {}) {
  const asked = names.find((name) => /^>>[a-z]{2,3}<<$/.test(name));
  const byte = names.find((name) => /^<0x[0-9A-F]{2}>$/.test(name));
  const dotted =
    names.find((name) => /^·\p{L}/u.test(name)) ?? names.find((name) => /^·./.test(name));
  const known = [
    asked &&
      `${asked} asks for ${languages[asked.slice(2, -2)] ?? `the language ${asked.slice(2, -2)}`}`,
    names.includes("<s>") && "<s> marks the beginning",
    names.includes("</s>") && "</s> marks the end",
    dotted && `${dotted} is a subword that continues the word before it`,
    names.includes("␣") && "␣ is a space",
    byte && `${byte} is one byte of a character that has no token of its own`,
    names.some((name) => name.startsWith(UNKNOWN)) &&
      `${UNKNOWN} stands for a word that is not in its vocabulary`,
  ].filter(Boolean);
  return known.length ? `${known.join("; ")}.` : "";
}

/** Whether a question is a picture or a sound by itself. */
export function isHeld(text: string): boolean {
  return /^data:(image|audio)\//.test(text.trim());
}

/** Whether a piece is a sign of the model's own, as </s> is, or >>fr<< that asks for French. */
export function isSign(piece: string): boolean {
  return /^(<[^<>\s]{1,16}>|>>[a-z]{2,3}<<)$/.test(piece);
}

/** Where the words begin: >>de<< or <s> may come before them. */
export function firstWord(names: readonly string[]): number {
  return Math.max(
    0,
    names.findIndex((name) => !/^(<s>|>>[a-z]{2,3}<<)$/.test(name)),
  );
}

/** How sure a step was, of the logarithm that travels; null is impossible. */
export function sure(logProbability: number | null | undefined): number {
  return typeof logProbability === "number" ? Math.exp(logProbability) : 0;
}

/** A probability for people: 93%, 0.4%, below 0.1%. */
export function percent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  if (share >= 0.9995) return "100%";
  if (share >= 0.0995) return `${(share * 100).toFixed(0)}%`;
  if (share >= 0.001) return `${(share * 100).toFixed(1)}%`;
  return share > 0 ? "<0.1%" : "0%";
}

/** A weight, as a table shows it: three decimals. */
export function share(weight: number): string {
  if (weight > 0 && weight < 0.0005) return "<0.001";
  return Number.isFinite(weight) ? weight.toFixed(3) : "–";
}

/** A number with as many digits as are worth reading. */
export function digits(value: number, places = 3): string {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return signed(grouped(String(value)));
  const size = Math.abs(value);
  if (size < 10 ** -places || size >= 1e6) return signed(value.toExponential(1));
  return signed(value.toFixed(size >= 1000 ? 1 : places));
}

/** 12,345: by hand, since the first call of a browser's own takes longer than a map to draw. */
function grouped(whole: string): string {
  return whole.replace(/\d(?=(\d{3})+$)/g, "$&,");
}

function signed(text: string): string {
  return text.replace(/^-/, "−");
}

/** What a program says in passing, as a sentence of its own. */
export function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[\p{L}\p{N})\]]$/u.test(begun) ? `${begun}.` : begun;
}

/** A text that keeps its direction to itself, for drawings that know no bdi. */
export function isolated(text: string): string {
  return `\u2068${text}\u2069`;
}
