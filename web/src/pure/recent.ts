// What was fetched a moment ago, kept while it is small enough; the one not used for longest goes first.

export class Recent<Found> {
  readonly #kept = new Map<string, { readonly found: Found; readonly size: number }>();
  #size = 0;

  constructor(readonly most: number) {}

  get(name: string): Found | undefined {
    const one = this.#kept.get(name);
    if (!one) return undefined;
    this.#kept.delete(name);
    this.#kept.set(name, one);
    return one.found;
  }

  keep(name: string, found: Found, size: number): void {
    this.#drop(name);
    this.#kept.set(name, { found, size });
    this.#size += size;
    for (const oldest of [...this.#kept.keys()]) {
      if (this.#size <= this.most) break;
      this.#drop(oldest);
    }
  }

  #drop(name: string): void {
    this.#size -= this.#kept.get(name)?.size ?? 0;
    this.#kept.delete(name);
  }
}
