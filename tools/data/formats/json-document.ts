/** A JSON value as it was written: numbers and strings keep their spelling, objects all their entries in order. */
export type JsonNode =
  | { readonly kind: 'literal'; readonly raw: string }
  | { readonly kind: 'array'; readonly items: readonly JsonNode[] }
  | { readonly kind: 'object'; readonly entries: readonly (readonly [rawKey: string, value: JsonNode])[] };

/** The place where a text stops being JSON, counted from 1, and what was expected there. */
export interface JsonProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Levels: deeper documents are attacks on the stack rather than data. */
const MAX_DEPTH = 200;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORD = /true|false|null/y;
const UNICODE_ESCAPE = /u[0-9a-fA-F]{4}/y;

/** Reads JSON without losing anything of it; what is no JSON comes back as its first problem. */
export function readJson(text: string): { readonly node: JsonNode } | { readonly problem: JsonProblem } {
  const reader = new Reader(text);
  try {
    return { node: reader.document() };
  } catch (error) {
    if (error instanceof Expected) return { problem: error.at(text) };
    throw error;
  }
}

/** Writes a document; `indent` 0 puts it on one line. Sorting is by code unit and keeps equal keys in order. */
export function writeJson(node: JsonNode, { indent, sortKeys }: { readonly indent: number; readonly sortKeys: boolean }): string {
  const write = (value: JsonNode, level: number): string => {
    if (value.kind === 'literal') return value.raw;
    const [open, close] = value.kind === 'array' ? ['[', ']'] : ['{', '}'];
    const parts =
      value.kind === 'array'
        ? value.items.map((item) => write(item, level + 1))
        : (sortKeys ? sorted(value.entries) : value.entries).map(([key, child]) => `${key}:${indent > 0 ? ' ' : ''}${write(child, level + 1)}`);
    if (parts.length === 0) return open + close;
    if (indent === 0) return open + parts.join(',') + close;
    const inner = `\n${' '.repeat(indent * (level + 1))}`;
    return `${open}${inner}${parts.join(`,${inner}`)}\n${' '.repeat(indent * level)}${close}`;
  };
  return write(node, 0);
}

function sorted<T>(entries: readonly (readonly [string, T])[]): readonly (readonly [string, T])[] {
  const keyed = entries.map((entry) => ({ entry, key: JSON.parse(entry[0]) as string }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ entry }) => entry);
}

class Expected extends Error {
  constructor(
    private readonly what: string,
    private readonly offset: number,
  ) {
    super(what);
  }

  at(text: string): JsonProblem {
    const before = text.slice(0, this.offset).split('\n');
    const found = this.offset >= text.length ? 'the end of the text' : JSON.stringify(String.fromCodePoint(text.codePointAt(this.offset) ?? 0));
    return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1, message: `Expected ${this.what}, got ${found}.` };
  }
}

class Reader {
  #at = 0;

  constructor(private readonly text: string) {}

  document(): JsonNode {
    const node = this.#value(0);
    this.#blanks();
    if (this.#at < this.text.length) throw new Expected('nothing more after the value', this.#at);
    return node;
  }

  #value(depth: number): JsonNode {
    if (depth > MAX_DEPTH) throw new Expected(`at most ${MAX_DEPTH} levels`, this.#at);
    this.#blanks();
    const first = this.text[this.#at];
    if (first === '{') return { kind: 'object', entries: this.#list('}', () => this.#entry(depth)) };
    if (first === '[') return { kind: 'array', items: this.#list(']', () => this.#value(depth + 1)) };
    if (first === '"') return { kind: 'literal', raw: this.#string() };
    const raw = this.#match(NUMBER) ?? this.#match(WORD);
    if (raw === undefined) throw new Expected('a value', this.#at);
    return { kind: 'literal', raw };
  }

  #list<T>(close: string, item: () => T): T[] {
    const items: T[] = [];
    this.#at += 1;
    this.#blanks();
    if (this.#take(close)) return items;
    for (;;) {
      items.push(item());
      this.#blanks();
      if (this.#take(close)) return items;
      if (!this.#take(',')) throw new Expected(`"," or "${close}"`, this.#at);
    }
  }

  #entry(depth: number): readonly [string, JsonNode] {
    this.#blanks();
    if (this.text[this.#at] !== '"') throw new Expected('a key in double quotes', this.#at);
    const key = this.#string();
    this.#blanks();
    if (!this.#take(':')) throw new Expected('":"', this.#at);
    return [key, this.#value(depth + 1)];
  }

  #string(): string {
    const start = this.#at;
    for (this.#at += 1; this.text[this.#at] !== '"'; this.#at += 1) {
      const character = this.text[this.#at];
      if (character === undefined) throw new Expected('the closing quote of the string', this.#at);
      if (character < ' ') throw new Expected('an escape such as \\n instead of a control character', this.#at);
      if (character === '\\') this.#escape();
    }
    this.#at += 1;
    return this.text.slice(start, this.#at);
  }

  /** Stops on the last character of the escape. */
  #escape(): void {
    this.#at += 1;
    const character = this.text[this.#at];
    if (character === 'u') {
      if (this.#match(UNICODE_ESCAPE) === undefined) throw new Expected('four hexadecimal digits after \\u', this.#at);
      this.#at -= 1;
    } else if (character === undefined || !'"\\/bfnrt'.includes(character)) {
      throw new Expected('an escape that JSON knows', this.#at);
    }
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #take(character: string): boolean {
    if (this.text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #blanks(): void {
    for (let c = this.text[this.#at]; c === ' ' || c === '\n' || c === '\r' || c === '\t'; c = this.text[this.#at]) this.#at += 1;
  }
}
