// The one thing every view shares: what is selected, what the server holds, and the trace being looked at.

import {
  change,
  fromHash,
  isStep,
  misread,
  START,
  toHash,
  type Head,
  type Selection,
} from "../pure/selection";
import { askedText, firstWord, isolated, pieceLabels, readable, visible } from "../pure/text";
import { flushSync, untrack } from "svelte";
import { unmet, unread } from "../pure/unmet";
import {
  api,
  onForgotten,
  shapeOf,
  type About,
  type RunCard,
  type Site,
  type TaskAbout,
  type Trace,
  type Wish,
} from "./api";
import { asked, type Asking } from "./asked.svelte";
import type { Opening } from "./inside";
import { Passage } from "./passage.svelte";
import type { Heads } from "./picture.svelte";
import { polled, type Polled } from "./polled.svelte";

export type Theme = "auto" | "light" | "dark";
const THEME = "regard-theme";
const NOTHING = { now: { state: "idle" }, found: undefined, retry: () => undefined } as const;
const OWN = "chosen here"; // marks an entry of the browser's history as one that this page made

const RENEWED = 10_000; // milliseconds after which a trace that was asked for anew may be lost again
const ADDRESS = 150; // milliseconds between two writings of the address; browsers refuse hundreds in a row

/** At once, and after that at most so often; the last call is never lost. */
export function seldom(act: () => void, milliseconds: number): () => void {
  let due = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    const wait = due - Date.now();
    clearTimeout(timer);
    if (wait > 0) timer = setTimeout(run, wait);
    else run();
  };
  function run(): void {
    due = Date.now() + milliseconds;
    act();
  }
}

class Studio {
  selection = $state.raw<Selection>(START);
  theme = $state<Theme>("auto");
  prefersDark = $state(false);
  /** Paper is light. */
  isPrinting = $state(false);
  /** What is typed but not yet asked; kept whatever the server says. */
  typed = $state("");
  /** What a view has to say about a link that it cannot show. */
  remarks = $state.raw<readonly string[]>([]);
  /** The address that was followed here, until somebody chooses something else. */
  #link = $state.raw<string | null>(null);
  #arrived = "";
  #write: () => void = () => undefined;
  about: Polled<About> = { ...NOTHING, isGone: false };
  /** The sentences of the text, answered one after the other. */
  passage = $state.raw<Passage | undefined>();
  /** The answer that everything on the page is about: that of the sentence selected. */
  trace: Asking<Trace> = NOTHING;

  /** Begin to ask; called once, by the page, so that effects have an owner. */
  open(opening: Opening = { selection: {} }): void {
    this.#follow(history.state);
    if (!location.hash) this.selection = change(START, opening.selection);
    this.typed = this.selection.text;
    const kept = opening.theme ?? remembered();
    if (kept) this.theme = kept;
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.prefersDark = dark.matches;
    dark.addEventListener("change", (event) => (this.prefersDark = event.matches));
    for (const when of ["beforeprint", "afterprint"]) {
      // Maps are canvases: they are drawn anew before the printer sees them.
      window.addEventListener(when, () => flushSync(() => (this.isPrinting = when[0] === "b")));
    }
    // Back and Forward, a link of the page, or another address typed into the browser's bar.
    for (const moved of ["popstate", "hashchange"]) {
      window.addEventListener(moved, () => {
        if (location.hash !== toHash(this.selection)) this.#follow(history.state);
      });
    }
    this.about = polled(
      (signal) => api.about(signal),
      ({ demo, runs }) => demo.state === "running" || runs.some(({ live }) => live),
      () => this.#retry(),
    );
    this.#offerExamples();
    const passage = (this.passage = new Passage(() => this.#wish()));
    const free = passage.of(() => this.selection.part);
    const forced = askedTrace(() => this.#forced());
    const asking = (): Asking<Trace> => (this.selection.prefix.length ? forced : free);
    this.trace = {
      get now() {
        return asking().now;
      },
      get found() {
        return asking().found;
      },
      retry: () => asking().retry(),
    };
    this.#write = seldom(() => this.#address("replaceState"), ADDRESS);
    $effect(() => {
      void this.selection;
      this.#write();
    });
    // Before any map is drawn, since maps take their colours from it.
    $effect.pre(() => {
      const { theme, isPrinting } = this;
      document.documentElement.dataset["theme"] = isPrinting ? "light" : theme;
      try {
        localStorage.setItem(THEME, theme);
      } catch {
        return;
      }
    });
  }

  /** What is asked: all of the text. What is forced is asked of one sentence, and changes nothing here. */
  #wish(): string | null {
    const { text, beam, reading } = this.selection;
    const { run } = this;
    if (!run || run.ready === false || (api.canAsk && !text.trim())) return null;
    const wish: Wish = { run: run.name, text, to: this.to, beam, prefix: [] };
    return JSON.stringify(reading ? { ...wish, split: reading === "sentences" } : wish);
  }

  /** The sentence selected, its first symbols chosen by somebody. */
  #forced(): string | null {
    const { prefix, part, beam } = this.selection;
    const { passage, run } = this;
    const one = passage?.sentences[passage.at(part)];
    if (!prefix.length || !one || !run) return null;
    const to = this.to || (one.trace?.to ?? "");
    return JSON.stringify({ run: run.name, text: one.text, to, beam, prefix });
  }

  /** Once the server is back: ask anew for what it could not answer. */
  #retry(): void {
    const { now } = this.trace;
    if (now.state === "error" && !now.error.isFinal) this.trace.retry();
  }

  /** A run begins with its example already answered; another run with its own, unless somebody typed. */
  #offerExamples(): void {
    let offered = "";
    $effect(() => {
      const { example, parameters = 0 } = this.run ?? {};
      if (!example || !parameters) return;
      const { text, row, column, prefix } = untrack(() => this.selection);
      const isTyping = untrack(() => this.typed) !== text;
      if (isTyping || (text !== "" && text !== offered)) return;
      offered = example;
      if (text === example) return;
      this.typed = example;
      untrack(() => this.settle({ text: example, row, column, prefix }));
    });
  }

  get isDark(): boolean {
    if (this.isPrinting) return false;
    return this.theme === "dark" || (this.theme === "auto" && this.prefersDark);
  }

  /** Change what is looked at. A step of navigation is one that the browser's Back undoes. */
  select(part: Partial<Selection>): void {
    const after = change(this.selection, part);
    const steps = isStep(this.selection, after);
    if (steps) this.#address("replaceState"); // where Back leads: to the row and cell seen last
    this.selection = after;
    if (!steps) return;
    this.#link = null;
    this.#address("pushState");
  }

  /** Change what is looked at without a step: what nobody chose is nothing to go back from. */
  settle(part: Partial<Selection>): void {
    this.selection = change(this.selection, part);
  }

  /** Show what the address says; `state` is ours where somebody chose it on this page before. */
  #follow(state: unknown): void {
    const { text } = this.selection;
    this.selection = fromHash(location.hash);
    this.#link = state === OWN ? null : location.hash;
    if (this.selection.text !== text) this.typed = this.selection.text;
  }

  /** What the link that was followed asks for and is not here. */
  get notices(): readonly string[] {
    if (this.#link === null) return [];
    const { trace, site, run, selection } = this;
    const isMap = ["heat", "lines", "neurons"].includes(selection.view);
    const found = trace.now.state === "ready" ? trace.now.found : undefined;
    const shape = found && site ? shapeOf(found, site, selection.words) : [];
    const runs = this.about.found?.runs.map(({ name }) => name);
    const rows = selection.view === "answer" ? found?.steps.length : isMap ? shape[1] : undefined;
    return [
      ...unread(misread(this.#link)),
      ...unmet(selection, {
        ...(run ? { run } : {}),
        ...(runs ? { runs } : {}),
        ...(found ? { sites: found.sites } : {}),
        ...(found && site ? { site: { heads: site.heads, title: siteTitle(site) } } : {}),
        ...(rows === undefined ? {} : { rows }),
        ...(isMap && shape[2] !== undefined ? { columns: shape[2] } : {}),
      }),
      ...this.remarks,
    ];
  }

  /** Go on with what is shown. */
  accept(): void {
    this.#link = null;
  }

  #address(how: "pushState" | "replaceState"): void {
    const hash = toHash(this.selection);
    if (hash === location.hash) return;
    // Inside a notebook's frame the address may not be changed.
    try {
      const state = how === "pushState" ? OWN : history.state;
      history[how](state, "", hash || location.pathname + location.search);
    } catch {
      return;
    }
  }

  /** The run that the address names, or the first; nothing where the studio has no run of that name. */
  get run(): RunCard | undefined {
    const runs = this.about.found?.runs ?? [];
    const { run } = this.selection;
    return run ? runs.find(({ name }) => name === run) : runs[0];
  }

  /** What the server says of a task; nothing of one that it does not know. */
  taskOf(name: string | undefined): TaskAbout | undefined {
    return this.about.found?.tasks[name ?? ""];
  }

  /** What the run does with a text, as one word: Translate, Tag, Continue. */
  get verb(): string {
    const [word = ""] = (this.taskOf(this.run?.task)?.verb ?? "answer").split(" ");
    return word.charAt(0).toUpperCase() + word.slice(1);
  }

  /** The name of a run that was asked for and is not here; the demo's, while it is being prepared, is awaited. */
  get missing(): string {
    const { run } = this.selection;
    const { demo } = this.about.found ?? {};
    if (!run || !this.about.found || this.run) return "";
    return demo?.state === "running" && demo.run === run ? "" : run;
  }

  /** The language to translate into, where one was chosen that the run knows. */
  get to(): string {
    return targetOf(this.run, this.selection.to);
  }

  /** The language that the answer on its way or on the page is in; empty until the server has said. */
  get into(): string {
    return this.to || (this.trace.now.state === "ready" ? (this.trace.now.found.to ?? "") : "");
  }

  /** The site selected, or the one that best shows where the answer comes from. */
  get site(): Site | undefined {
    const trace = this.trace.found;
    return trace && siteOf(trace, this.selection.site);
  }

  /** The query chosen among these, or the first word; -1 for all of them. */
  rowIn(queries: readonly string[]): number {
    return this.selection.row ?? firstWord(queries);
  }

  /** The key chosen among these, or the first word. */
  columnIn(keys: readonly string[]): number {
    return this.selection.column ?? firstWord(keys);
  }

  /** Whether an answer has not been seen before; once. */
  arrived({ id }: Trace): boolean {
    const isNew = id !== this.#arrived;
    this.#arrived = id;
    return isNew;
  }

  /** The answer's symbols so far, with another one in place of step `at`. */
  force(at: number, symbol: string): void {
    const trace = this.trace.found;
    if (!trace) return;
    const said = trace.steps.slice(prompted(trace), at).map((step) => step.symbol);
    this.select({ prefix: [...said, symbol], row: at });
  }

  ask(): void {
    const text = this.typed.trim();
    if (text === this.selection.text) this.trace.retry();
    else this.select({ text });
  }
}

export const studio = new Studio();

/** A language that a run knows, or nothing: then the server chooses by the language of the text. */
export function targetOf(run: RunCard | undefined, wanted: string): string {
  return Object.hasOwn(run?.languages ?? {}, wanted) ? wanted : "";
}

/** What to tell about the languages of a question and its answer, if they do not go together. */
export function languageNote(run: RunCard | undefined, { language, to }: Trace): string {
  const name = (code: string): string => run?.languages?.[code] ?? code;
  if (!language || !to) return "";
  if (language === to) return `This looks like ${name(to)} already.`;
  const learned = run?.directions ?? [];
  if (!learned.length || learned.includes(`${language}-${to}`)) return "";
  return `${name(language)} to ${name(to)} is not among the pairs it learned.`;
}

/** A trace, asked for anew when the server has forgotten it: after a restart, or after many others. */
export function askedTrace(question: () => string | null): Asking<Trace> {
  const wanted = $derived(question());
  const asking = asked(
    () => wanted,
    (wish, signal) => api.trace(JSON.parse(wish), signal),
  );
  $effect(() => {
    let [lost, renewed] = ["", -Infinity];
    return onForgotten((id) => {
      if (asking.found?.id !== id) return false;
      if (id === lost) return true; // on its way already
      if (performance.now() - renewed < RENEWED) return false;
      [lost, renewed] = [id, performance.now()];
      asking.retry();
      return true;
    });
  });
  return asking;
}

export function siteOf(trace: Trace, path: string): Site | undefined {
  const at = (wanted: string | undefined) => trace.sites.find((site) => site.path === wanted);
  const chosen = at(path) ?? at(trace.look);
  const facing = trace.sites.filter((site) => site.keys === "source" && site.queries !== "source");
  return chosen ?? facing.at(-1) ?? trace.sites.at(-1);
}

/** What stands along an axis, ready to be shown. */
export function axisLabels(trace: Trace, axis: string, words: boolean): string[] {
  const found = trace.axes[axis];
  if (!found) return [];
  return words ? found.words.map((word) => visible(word)) : pieceLabels(found);
}

/** What lies along an axis, and what an attention does with it: the title of a side of its map. */
export function axisTitle(trace: Trace, axis: string, role: "queries" | "keys"): string {
  const kinds = { tokens: "text", grid: "picture", times: "sound", items: "items" } as const;
  const source = kinds[trace.axes[axis]?.kind ?? "tokens"];
  const names: Readonly<Record<string, string>> = {
    source,
    places: source,
    target: "answer",
    label: "answer",
    inputs: "answer so far",
    sources: "sources",
  };
  return `${names[axis] ?? axis} (${role})`;
}

/** How many steps are the text that was typed, which a language model continues; what is forced comes after. */
export function prompted({ steps, asked }: Trace): number {
  return Math.max(0, steps.filter(({ given }) => given).length - asked.prefix.length);
}

/** The heads that are shown of a site: one by its number, or those that the mean is taken of. */
export function headsOf(trace: Trace, site: Site, head: Head): Heads {
  if (site.heads === 1) return 0;
  if (typeof head === "number") return Math.min(head, site.heads - 1);
  const named = site.path === trace.look ? (trace.look_heads ?? []) : [];
  return head === "default" && named.length ? named : "mean";
}

function remembered(): Theme | null {
  try {
    const kept = localStorage.getItem(THEME);
    return kept === "light" || kept === "dark" ? kept : null;
  } catch {
    return null;
  }
}

/** The same of a path alone, which is all that a sample of training says. */
export function placeTitle(path: string): string {
  const parts = path.split(".");
  const layer = Number(parts.find((part) => /^\d+$/.test(part)) ?? 0);
  const decodes = !isLayered({ path }) || parts.includes("cross");
  const kind =
    parts[0] === "encoder"
      ? "encoder-self"
      : parts.includes("pool")
        ? "pool"
        : decodes
          ? "cross"
          : "decoder-self";
  return siteTitle({ path, kind, layer });
}

/** Whether an attention is one of a stack of layers; that of a recurrent decoder, say, is not. */
export function isLayered({ path }: Pick<Site, "path">): boolean {
  return /(^|\.)\d+(\.|$)/.test(path);
}

/** A site for people: "cross-attention, layer 2" rather than reader.blocks.1.cross. */
export function siteTitle(site: Pick<Site, "path" | "kind" | "layer"> & { keys?: string }): string {
  const layered = isLayered(site);
  const copies = site.path.split(".").includes("copying");
  const kinds: Record<string, string> = {
    "encoder-self": "Encoder self-attention",
    "decoder-self": "Decoder self-attention",
    cross: layered ? "Cross-attention" : copies ? "Copying attention" : "Decoder attention",
    rnn: "Decoder attention",
    pointer: "Pointer attention",
    pool: "Pooling attention",
    choice: "Choice between sources",
  };
  const kind = kinds[site.kind] ?? site.path;
  // Of several sources each is named.
  const named = ["encoder-self", "cross"].includes(site.kind) && site.keys !== "source";
  const source = named && site.keys ? ` (${site.keys})` : "";
  return `${kind}${source}${layered ? `, layer ${site.layer + 1}` : ""}`;
}

/** What the layers of one stack have in common. */
export function stackTitle(site: Site): string {
  return siteTitle(site).replace(/, layer.*/, "");
}

/** Which head: nothing to say where there is only one. */
export function headTitle(site: Site, head: Heads): string {
  if (site.heads === 1) return "";
  if (typeof head === "object") return headsTitle(head);
  return head === "mean" ? `, mean of all ${site.heads} heads` : `, head ${head + 1}`;
}

function headsTitle(heads: readonly number[]): string {
  const names = heads.map((head) => head + 1).join(", ");
  return heads.length === 1 ? `, head ${names}` : `, mean of heads ${names}`;
}

/** Why the heads that are shown are those: nothing to say where they are one, or all. */
export function headNote(head: Heads): string {
  if (typeof head !== "object") return "";
  const [names, they] =
    head.length > 1 ? ["These heads are", "them as those"] : ["This head is", "it as one"];
  return `${names} the default: the model's card names ${they} that align${head.length > 1 ? "" : "s"} the answer with the text.`;
}

/** What a file says about where it comes from. */
export function notesOf(run: string, trace: Trace): string[] {
  const quote = (text: string): string => `“${isolated(readable(text))}”`;
  const answer = trace.answer.text ? ` and answers ${quote(trace.answer.text)}` : "";
  return [`${run || "A model"} reads “${isolated(askedText(trace.question, trace.axes))}”${answer}.`];
}
