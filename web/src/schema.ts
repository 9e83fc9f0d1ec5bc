// The types of what the studio's API gives: made from src/regard/studio/schema.py, never by hand.
// python -m tests.house.schema --write

/** A score of the model's card; of a run without a card, the deciding metric of its best evaluation. */
export interface Score {
  /** the metric, such as BLEU */
  readonly name: string;
  readonly value: number | null;
  /** the test set, or `held out` for the run's own */
  readonly test: string;
  /** the pair of languages, such as `en-fr`, if any */
  readonly direction: string;
}

/** A run in a few words; `languages` where it knows several. */
export interface RunCard {
  readonly name: string;
  readonly task: string;
  readonly parameters: number;
  /** what it is made of and trained on */
  readonly summary: string;
  readonly scores?: readonly Score[];
  readonly languages?: Readonly<Record<string, string>>;
  /** the pairs of languages it learned, such as `en-fr`, if told */
  readonly directions?: readonly string[];
  /** how it cuts text: `bpe`, `word` and so on */
  readonly pieces?: string;
  /** the built-in data or the files it learned */
  readonly learned?: string;
  /** a text to begin with, if one is known */
  readonly example?: string;
  /** what `regard.load` takes, where the studio was started */
  readonly place: string;
  /** it trains now */
  readonly live: boolean;
  /** it has a model that can be asked */
  readonly ready: boolean;
}

/** What a page must know of a task: how it is asked for, and how its answers are read. */
export interface TaskAbout {
  /** what a model of it does, such as `tag words` */
  readonly verb: string;
  /** what a person is asked to type */
  readonly hint: string;
  /** the kind of file that may be given instead, such as `image/*` */
  readonly accepts?: string;
  /** how the symbols of an answer are read; may be empty */
  readonly reading: string;
  /** an answer is searched for symbol by symbol */
  readonly searches: boolean;
  /** an answer begins with the question */
  readonly continues: boolean;
}

/** Built-in data. */
export interface Toy {
  readonly name: string;
  readonly title: string;
  readonly story: string;
  readonly task: string;
}

/** The demo: not begun, being trained, trained, or failed with a message. */
export interface DemoAbout {
  readonly state: "absent" | "running" | "done" | "failed";
  readonly run: string;
  readonly message?: string;
}

/** What the studio has to show. */
export interface About {
  readonly version: string;
  readonly runs: readonly RunCard[];
  /** by the `task` of runs and traces */
  readonly tasks: Readonly<Record<string, TaskAbout>>;
  readonly toys: readonly Toy[];
  readonly demo: DemoAbout;
}

/** One side of a map: a name for every place, and the words, or other wholes, they belong to. */
export interface Axis {
  /** as the model reads them; `▁` is a space */
  readonly pieces: readonly string[];
  /** for each piece the number of its word */
  readonly word_ids: readonly number[];
  readonly words: readonly string[];
}

/** Another whole answer that the search ended with. */
export interface RunnerUp {
  readonly text: string;
  readonly score: number | null;
}

/** What the model answered; `words` where each symbol belongs to a word of the question. */
export interface Answer {
  readonly text: string;
  /** what the search ranked it by */
  readonly score: number | null;
  readonly symbols: readonly string[];
  readonly log_probabilities: readonly (number | null)[];
  /** end, or what stopped it before, such as length */
  readonly finish: string;
  readonly alternatives: readonly RunnerUp[];
  readonly words?: readonly string[];
}

/** One symbol that a step could have said. */
export interface Alternative {
  readonly symbol: string;
  readonly id: number;
  readonly log_probability: number | null;
}

/** One symbol of the answer, or its end; probabilities are natural logarithms, null for impossible. */
export interface Step {
  readonly symbol: string;
  readonly id: number;
  readonly log_probability: number | null;
  /** it was asked for, by `prefix` or as the prompt */
  readonly given: boolean;
  /** the ten likeliest in its place, best first */
  readonly alternatives: readonly Alternative[];
  /** the piece of the source whose state it was said from, if it was one */
  readonly place: number | null;
}

/** The tokens of a text. */
export interface TokensAxis {
  /** as the model reads them; `▁` is a space */
  readonly pieces: readonly string[];
  /** for each piece the number of its word */
  readonly word_ids: readonly number[];
  readonly words: readonly string[];
  readonly kind: "tokens";
}

/** The cells of a picture, column after column. */
export interface GridAxis {
  /** as the model reads them; `▁` is a space */
  readonly pieces: readonly string[];
  /** for each piece the number of its word */
  readonly word_ids: readonly number[];
  readonly words: readonly string[];
  readonly kind: "grid";
  readonly rows: number;
  readonly columns: number;
  /** the picture as a data URL; empty if not known */
  readonly picture: string;
  /** how much of the grid's height and width the picture takes, up to 1 */
  readonly covered: readonly number[];
}

/** Moments of a sound. */
export interface TimesAxis {
  /** as the model reads them; `▁` is a space */
  readonly pieces: readonly string[];
  /** for each piece the number of its word */
  readonly word_ids: readonly number[];
  readonly words: readonly string[];
  readonly kind: "times";
  /** of each moment, from the beginning */
  readonly seconds: readonly number[];
  /** the loudness of the sound, to draw it */
  readonly waveform: readonly number[];
  /** a picture of it as a data URL, low tones at the bottom; may be empty */
  readonly spectrogram: string;
  /** the sound itself as a data URL; may be empty */
  readonly sound: string;
  /** how long the sound lasts, in seconds; 0 if not known */
  readonly until: number;
}

/** Items to choose from. */
export interface ItemsAxis {
  /** as the model reads them; `▁` is a space */
  readonly pieces: readonly string[];
  /** for each piece the number of its word */
  readonly word_ids: readonly number[];
  readonly words: readonly string[];
  readonly kind: "items";
  /** the numbers of each; may be empty */
  readonly points: readonly (readonly number[])[];
}

/** One attention of the model; its matrices are asked for one head at a time. */
export interface Site {
  /** the `site` of other requests */
  readonly index: number;
  /** of the module inside the model */
  readonly path: string;
  /** encoder-self, decoder-self, cross, rnn, pointer or pool */
  readonly kind: string;
  /** from 0 */
  readonly layer: number;
  /** the axis of the rows */
  readonly queries: string;
  /** the axis of the columns */
  readonly keys: string;
  readonly heads: number;
  /** how a query meets a key, such as scaled-dot */
  readonly score: string;
  /** how scores become weights, such as softmax */
  readonly normaliser: string;
  /** what a neuron adds: a product, or additive */
  readonly combine: string;
  /** what a product is multiplied by */
  readonly scale: number;
  /** heads, query, key */
  readonly shape: readonly [number, number, number];
  /** neurons that a score is a sum of */
  readonly width: number;
  readonly value_width: number;
  /** whether the distance adds to a score */
  readonly has_bias: boolean;
  /** numbers that a query notices about a key beside it; nearly always 0 */
  readonly features: number;
  /** of each head: the mean, over queries, of its largest weight */
  readonly sharpness: readonly number[];
}

/** One number for each place of an axis. */
export interface Ribbon {
  /** p_gen, coverage, gate: as the literature calls it */
  readonly name: string;
  /** the axis whose places have these values */
  readonly axis: string;
  readonly values: readonly number[];
}

/** An answer and the list of what can be looked at. */
export interface TraceAbout {
  /** for the other requests; forgotten when many newer came */
  readonly id: string;
  readonly task: string;
  readonly model: string;
  readonly question: string;
  readonly answer: Answer;
  readonly steps: readonly Step[];
  /** source, target, said and others, by name */
  readonly axes: Readonly<Record<string, TokensAxis | GridAxis | TimesAxis | ItemsAxis>>;
  readonly sites: readonly Site[];
  /** of the question, guessed; empty if of no matter */
  readonly language: string;
  /** the language of the answer; empty if there is one alone */
  readonly to: string;
  /** why the answer may be wrong; empty if nothing is known */
  readonly doubt: string;
  /** numbers along an axis, such as gates */
  readonly ribbons: readonly Ribbon[];
  /** the path of the site that best shows the answer's origin */
  readonly look: string;
  /** the heads of it to take the mean of; none: of all */
  readonly look_heads: readonly number[];
  readonly has_tree: boolean;
}

/** One query against its heaviest keys: each row of `contributions`, plus the bias, sums to a score. */
export interface Neurons {
  readonly query: readonly number[];
  /** which keys: their columns in the matrix */
  readonly places: readonly number[];
  /** a row a key, a number a neuron */
  readonly keys: readonly (readonly number[])[];
  readonly contributions: readonly (readonly number[])[];
  /** what the distance adds, if it does */
  readonly bias: readonly number[] | null;
  /** null where the query could not look */
  readonly scores: readonly (number | null)[];
  readonly weights: readonly number[];
  /** keys there are */
  readonly total: number;
  /** whether some are left out */
  readonly capped: boolean;
}

/** One candidate of one step of the search. */
export interface Expansion {
  /** the slot it continues, of the step before */
  readonly parent: number;
  readonly symbol: string;
  readonly id: number;
  readonly log_probability: number | null;
  /** of the hypothesis so far, forced symbols included */
  readonly total: number | null;
  readonly fate: "kept" | "ended" | "dropped";
  /** where it is kept; -1 when dropped */
  readonly slot: number;
  /** part of the answer */
  readonly winner: boolean;
  /** it was asked for, by `prefix` or as the prompt */
  readonly forced: boolean;
}

/** Every candidate that search compared, step by step; none for models that do not search. */
export interface TreeAbout {
  readonly steps: readonly (readonly Expansion[])[];
}

/** A worked example, with the lecture's numbers as its inputs. */
export interface Lesson {
  readonly name: string;
  readonly title: string;
  readonly lectures: readonly string[];
  readonly about: string | null;
  readonly inputs: Readonly<Record<string, unknown>>;
}

/** What a head is called, and the number that the rule looked at. */
export interface HeadRole {
  readonly name: string;
  readonly value: number;
}

/** One head over many sentences; a measure is null where nothing could be counted. */
export interface HeadStudied {
  /** of the attention inside the model */
  readonly path: string;
  /** encoder-self, decoder-self, cross or rnn */
  readonly kind: string;
  /** from 0 */
  readonly layer: number;
  /** from 0 */
  readonly head: number;
  /** of what it looks at: of several sources, which one */
  readonly keys: string;
  readonly roles: readonly HeadRole[];
  readonly measures: Readonly<Record<string, number | null>>;
  /** the same of a head that looks at random */
  readonly random: Readonly<Record<string, number | null>>;
  /** the same where the words are shuffled */
  readonly shuffled: Readonly<Record<string, number | null>>;
}

/** Every head of a model. */
export interface HeadsStudied {
  readonly heads: readonly HeadStudied[];
  /** those that something was counted for */
  readonly measures: readonly string[];
  /** that were read, each twice */
  readonly sentences: number;
  /** too short or too long to judge by */
  readonly left_out: number;
  /** the language translated into; empty if of no matter */
  readonly to: string;
  /** whose sentences they are: `regard`, `run`, `example` or `typed` */
  readonly own: string;
}

/** A word in one sentence. */
export interface WordOccurrence {
  readonly text: string;
  /** where it stands, in Unicode characters */
  readonly span: readonly [number, number] | null;
  /** as the sentences say; empty if they do not */
  readonly sense: string;
  /** the word it was translated by, if it was */
  readonly label: string;
  /** its static vector on a map of its own */
  readonly static: readonly number[];
}

/** All occurrences behind one layer of the encoder. */
export interface SenseLayer {
  /** along two principal components */
  readonly map: readonly (readonly number[])[];
  /** k-means by cosine */
  readonly groups: readonly number[];
  /** of each, the nearest: number and cosine */
  readonly neighbours: readonly (readonly (readonly number[])[])[];
  /** how often the nearest neighbour has the same sense */
  readonly score: number | null;
}

/** A word in many sentences; layer 0 is before the first. */
export interface SensesStudied {
  readonly word: string;
  /** the language translated into; empty if of no matter */
  readonly to: string;
  readonly occurrences: readonly WordOccurrence[];
  readonly layers: readonly SenseLayer[];
  /** the same by the static vectors */
  readonly static_score: number | null;
}

/** The sentences that come with regard: by word, then by sense. */
export interface SensesShipped {
  readonly words: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}
