/** One word of a command line as the shell would see it, and what cannot be known about it before it runs. */
export interface ShellWord {
  /** The text without quotes and escapes. */
  readonly text: string;
  /** Marks a word with a variable, a substitution, a glob or braces, so that the real word is another one. */
  readonly expands: boolean;
}

/** A program with its words, or the bare text around control operators. */
export interface ShellCommand {
  readonly words: readonly ShellWord[];
  /** Files that output is written to. */
  readonly writesTo: readonly ShellWord[];
  /** Command lines inside `$(…)`, backticks and `<(…)`. */
  readonly nested: readonly string[];
}

interface ShellParse {
  readonly commands: readonly ShellCommand[];
  /** Marks a text that is not what it seems: something left open, a function or list, a here-document, quotes of a kind not read here. */
  readonly opaque: boolean;
}

/** No carriage return: to the shell it is a letter, and a `#` after it starts no comment. */
const BLANK = new Set([' ', '\t']);
const CONTROL = new Set([';', '&', '|', '\n', '(', ')']);
const EXPANDING = new Set(['*', '?', '[']);

/**
 * Splits a command line into the commands the shell would run, in one pass over its characters.
 *
 * Knows quotes, escapes, comments, control operators, redirections and substitutions; it errs towards more commands,
 * and calls opaque what it does not know.
 */
export function parseShell(line: string): ShellParse {
  return new ShellReader(line).read();
}

class ShellReader {
  #at = 0;
  #opaque = false;
  #commands: ShellCommand[] = [];
  #words: ShellWord[] = [];
  #writesTo: ShellWord[] = [];
  #nested: string[] = [];

  constructor(private readonly line: string) {}

  read(): ShellParse {
    while (this.#at < this.line.length) {
      const char = this.line[this.#at] as string;
      if (BLANK.has(char)) this.#at++;
      else if (char === '#') this.#skipComment();
      else if (char === '>' || char === '<' || this.line.startsWith('&>', this.#at))
        this.#redirect();
      else if (CONTROL.has(char)) this.#control(char);
      else this.#words.push(this.#word());
    }
    this.#endCommand();
    return { commands: this.#commands, opaque: this.#opaque };
  }

  #skipComment(): void {
    while (this.#at < this.line.length && this.line[this.#at] !== '\n') this.#at++;
  }

  #control(char: string): void {
    // `f() { … }` and `a=(…)`: what is inside runs later, under another name.
    if (char === '(' && this.#words.length > 0) this.#opaque = true;
    this.#at++;
    this.#endCommand();
  }

  #endCommand(): void {
    if (this.#words.length > 0 || this.#writesTo.length > 0 || this.#nested.length > 0)
      this.#commands.push({ words: this.#words, writesTo: this.#writesTo, nested: this.#nested });
    this.#words = [];
    this.#writesTo = [];
    this.#nested = [];
  }

  #redirect(): void {
    const start = this.line[this.#at];
    if (this.line[this.#at + 1] === '(') {
      this.#at += 2;
      this.#nested.push(this.#untilClosed());
      return;
    }
    // A number that touches the operator names a stream and is not a word.
    if (/\d/.test(this.line[this.#at - 1] ?? '') && /^\d+$/.test(this.#words.at(-1)?.text ?? ''))
      this.#words.pop();
    let operator = '';
    while ('<>&|'.includes(this.line[this.#at] ?? ' ')) operator += this.line[this.#at++];
    // The quotes in a here-document are text: they would hide the commands between two of them.
    if (operator.includes('<<')) this.#opaque = true;
    while (BLANK.has(this.line[this.#at] ?? '')) this.#at++;
    const next = this.line[this.#at];
    if (next === undefined || next === '\n') return;
    const target = this.#word();
    const isStream = operator.endsWith('&') && /^(?:\d+|-)$/.test(target.text);
    if ((start === '>' || start === '&' || operator.includes('>')) && !isStream)
      this.#writesTo.push(target);
  }

  #word(): ShellWord {
    let text = '';
    let expands = false;
    let quoted = false;
    const start = this.#at;
    while (this.#at < this.line.length) {
      const char = this.line[this.#at] as string;
      if (!quoted && (BLANK.has(char) || CONTROL.has(char) || char === '<' || char === '>')) break;
      if (char === '\\') {
        const next = this.line[this.#at + 1] ?? '';
        text += next === '\n' ? '' : next;
        this.#at += 2;
      } else if (char === "'" && !quoted) {
        const end = this.line.indexOf("'", this.#at + 1);
        if (end < 0) this.#opaque = true;
        text += this.line.slice(this.#at + 1, end < 0 ? undefined : end);
        this.#at = end < 0 ? this.line.length : end + 1;
      } else if (char === '"') {
        quoted = !quoted;
        this.#at++;
      } else if (char === '`' || this.line.startsWith('$(', this.#at)) {
        expands = true;
        const from = this.#at;
        this.#nested.push(this.#substitution(char));
        text += this.line.slice(from, this.#at);
      } else {
        // In `$'…'` a backslash escapes the quote, so that it ends elsewhere.
        if (char === '$' && !quoted && this.line[this.#at + 1] === "'") this.#opaque = true;
        if (
          char === '$' ||
          (!quoted && (EXPANDING.has(char) || (char === '{' && this.#bracesAt(this.#at))))
        )
          expands = true;
        text += char;
        this.#at++;
      }
    }
    if (quoted) this.#opaque = true;
    // Always forward, whatever the text: a reader that stands still never ends.
    if (this.#at === start) this.#at++;
    return { text, expands };
  }

  /** Returns true if `{` starts a brace expansion (`{rm,-rf,/}`) and not a group or a literal. */
  #bracesAt(at: number): boolean {
    for (let i = at + 1; i < this.line.length; i++) {
      const char = this.line[i] as string;
      if (char === ',' || this.line.startsWith('..', i)) return true;
      if (char === '{' || char === '}' || BLANK.has(char) || char === '\n') return false; // An inner brace is asked for itself.
    }
    return false;
  }

  #substitution(char: string): string {
    if (char === '`') {
      const end = this.line.indexOf('`', this.#at + 1);
      const inner = this.line.slice(this.#at + 1, end < 0 ? undefined : end);
      // A backslash may escape backticks further in.
      if (end < 0 || inner.includes('\\')) this.#opaque = true;
      this.#at = end < 0 ? this.line.length : end + 1;
      return inner;
    }
    this.#at += 2;
    return this.#untilClosed();
  }

  /** Reads up to the parenthesis that closes one already read. */
  #untilClosed(): string {
    const start = this.#at;
    let quote = '';
    for (let depth = 1; this.#at < this.line.length; this.#at++) {
      const char = this.line[this.#at] as string;
      if (char === '\\' && quote !== "'") this.#at++;
      else if (quote !== '') quote = char === quote ? '' : quote;
      else if (char === "'" || char === '"') quote = char;
      else if (char === '(') depth++;
      else if (char === ')' && --depth === 0) return this.line.slice(start, this.#at++);
    }
    this.#opaque = true;
    return this.line.slice(start);
  }
}
