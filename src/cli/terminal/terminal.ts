import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { isatty } from 'node:tty';
import { isToolError, ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { wrongUsage } from './wrong-usage.js';

/** The place where a command writes, and what it may assume about the reader. */
export interface Terminal {
  /** Writes results: standard output. */
  out(text: string): void;
  /** Writes diagnostics: standard error. */
  err(text: string): void;
  readonly color: boolean;
  /** The characters of a line; tables are fitted to it. Infinite where no user is reading: there nothing is cut. */
  readonly columns: number;
}

export interface AskOptions {
  /** The text that stands in the line already, to be changed. */
  readonly prefill?: string;
  /** Takes the question back. */
  readonly signal?: AbortSignal | undefined;
}

/** A terminal at which a user may sit. */
export interface Dialog extends Terminal {
  /** True where questions are seen and can be answered. */
  readonly interactive: boolean;
  /** Asks for a line that a user types, without its end; `undefined` where nobody answers: not interactive, end of input, or taken back. */
  ask(question: string, options?: AskOptions): Promise<string | undefined>;
  /** Returns all of standard input. @throws ToolError `INVALID_ARGUMENT` for more bytes, or what is no UTF-8. */
  readInput(maxBytes: number): Promise<string>;
  /** Calls the function when the user interrupts the program (Ctrl-C), until the returned function is called. */
  onInterrupt(listener: () => void): () => void;
}

/** The width of a terminal that does not say. */
const USUAL_COLUMNS = 80;

/**
 * Returns the terminal of a process. Colours as https://no-color.org asks.
 *
 * It takes standard output for itself: what the user's files print, while they are imported or later, goes to standard
 * error, so that results stay what they are. A reader that leaves early (`… | head`) is no error.
 */
export function processTerminal(process: NodeJS.Process): Dialog & { flush(): Promise<void> } {
  const { stdout, stderr, env } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  for (const stream of [stdout, stderr]) stream.on('error', ignoreClosedReader);
  const { NO_COLOR, FORCE_COLOR } = env;
  return Object.assign(dialogOf(process), {
    out: (text: string) => void write(`${text}\n`),
    err: (text: string) => void stderr.write(`${text}\n`),
    color:
      NO_COLOR !== undefined && NO_COLOR !== ''
        ? false
        : FORCE_COLOR !== undefined
          ? FORCE_COLOR !== '0'
          : stdout.isTTY === true,
    columns: stdout.isTTY === true ? stdout.columns || USUAL_COLUMNS : Infinity,
    flush: async () => {
      await new Promise<void>((done) => write('', () => done()));
      await new Promise<void>((done) => stderr.write('', () => done()));
    },
  });
}

/** Asks and listens at the terminal of a process. Questions go to standard error: standard output may lead into a file. Standard input is opened on use only. */
function dialogOf(
  process: NodeJS.Process,
): Pick<Dialog, 'interactive' | 'ask' | 'readInput' | 'onInterrupt'> {
  const listeners = new Set<() => void>();
  const tellInterrupt = () => {
    for (const listener of listeners) listener();
  };
  let inputRead = false;
  const dialog = {
    get interactive() {
      return !inputRead && isatty(0) && process.stderr.isTTY === true;
    },
    ask: (question: string, { prefill, signal }: AskOptions = {}) =>
      new Promise<string | undefined>((resolve) => {
        if (!dialog.interactive || signal?.aborted === true) return resolve(undefined);
        const lines = createInterface({
          input: process.stdin,
          output: process.stderr,
          terminal: true,
          historySize: 0,
        });
        const takeBack = () => lines.close();
        let answer: string | undefined;
        lines.once('line', (line) => {
          answer = line;
          lines.close();
        });
        lines.once('close', () => {
          signal?.removeEventListener('abort', takeBack);
          if (answer === undefined) process.stderr.write('\n');
          resolve(answer);
        });
        // While a line is edited, the terminal sends no signal.
        lines.on('SIGINT', () => {
          tellInterrupt();
          lines.close();
        });
        signal?.addEventListener('abort', takeBack, { once: true });
        lines.setPrompt(question);
        lines.prompt();
        if (prefill !== undefined) lines.write(prefill);
      }),
    readInput: (maxBytes: number) => {
      inputRead = true;
      return readBounded(process.stdin, maxBytes, 'standard input');
    },
    onInterrupt: (listener: () => void) => {
      if (listeners.size === 0) process.on('SIGINT', tellInterrupt);
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) process.removeListener('SIGINT', tellInterrupt);
      };
    },
  };
  return dialog;
}

function ignoreClosedReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') throw error;
}

const STYLES = {
  bold: 1,
  dim: 2,
  red: 31,
  green: 32,
  yellow: 33,
  blue: 34,
  magenta: 35,
  cyan: 36,
} as const;
export type Style = keyof typeof STYLES;

export function paint(terminal: Terminal, style: Style, text: string): string {
  return terminal.color ? `\u001b[${STYLES[style]}m${text}\u001b[0m` : text;
}

/**
 * Returns the UTF-8 text of a stream, without a byte order mark.
 *
 * @throws ToolError `INVALID_ARGUMENT` when it cannot be read, holds more bytes, or is no UTF-8.
 */
export async function readBounded(
  stream: Readable,
  maxBytes: number,
  name: string,
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw wrongUsage(`at most ${maxBytes} bytes in ${name}`, 'more');
      chunks.push(chunk);
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    if (isToolError(error)) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? 'an error';
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot(`${name} to be a file of UTF-8 text that can be read`, code),
      { cause: error },
    );
  }
}

// C0 and C1 controls, and the direction marks with which a text can be shown in another order than it is read.
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const CONTROLS_WITHIN_LINES =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
/** Characters that a reader does not see or takes for a space: beside the above zero-width, filling and unassigned ones, and odd spaces. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** Returns a text on one line, without the characters by which a tool's description could steer the terminal. */
export function plainLine(text: string): string {
  return text.replace(/\s+/g, ' ').replace(CONTROLS, '').trim();
}

/** Returns `file:line:column` as far as they are known: editors and terminals make a link of it. */
export function placeText({
  file,
  line,
  column,
}: {
  readonly file: string;
  readonly line?: number | null;
  readonly column?: number | null;
}): string {
  return plainLine(
    [file, ...(line == null ? [] : [line, ...(column == null ? [] : [column])])].join(':'),
  );
}

/** Returns a text with its line ends and tabs, in which no character steers the terminal: such ones are written out. */
export function plainText(text: string): string {
  return text.replace(CONTROLS_WITHIN_LINES, writtenOut);
}

/** Returns JSON in which no character steers the terminal. It means the same. */
export function plainJson(value: unknown, indent?: number): string {
  return plainText(JSON.stringify(value, null, indent) ?? 'null');
}

/** Returns a text in which everything can be seen: what a user approves must not hide anything. */
export function seenText(text: string): string {
  return text.replace(UNSEEN, writtenOut);
}

/** Returns a character as JSON writes it, so that written-out JSON still means the same. */
function writtenOut(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');
}

/** The place of a finding: the file relative to the working directory; `null` where it is not known. */
export interface FindingPlace<File = string | null> {
  readonly file: File;
  readonly line: number | null;
  readonly column: number | null;
}

/** Returns a workflow command of GitHub Actions, which other CI services read too. */
export function annotation(
  severity: 'error' | 'warning',
  title: string,
  message: string,
  { file, line, column }: Partial<FindingPlace> = {},
): string {
  const properties = { file, line, col: column, title };
  return `::${severity} ${Object.entries(properties)
    .flatMap(([name, value]) => (value == null ? [] : [`${name}=${escapeProperty(String(value))}`]))
    .join(',')}::${escapeData(message)}`;
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
