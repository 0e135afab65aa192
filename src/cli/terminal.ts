/** Where a command writes, and what it may assume about the reader. */
export interface Terminal {
  /** Results: standard output. */
  out(text: string): void;
  /** Diagnostics: standard error. */
  err(text: string): void;
  /** Whether colours are wanted. */
  readonly color: boolean;
  /** Characters a line; tables are cut to it. */
  readonly columns: number;
}

/** Wide enough that piped tables are not cut where a person would look for the end of a word. */
const PIPED_COLUMNS = 200;

/** The terminal of a process. Colours as https://no-color.org asks. */
export function processTerminal(process: NodeJS.Process): Terminal {
  const { NO_COLOR, FORCE_COLOR } = process.env;
  return {
    out: (text) => void process.stdout.write(`${text}\n`),
    err: (text) => void process.stderr.write(`${text}\n`),
    color: NO_COLOR !== undefined && NO_COLOR !== '' ? false : FORCE_COLOR !== undefined ? FORCE_COLOR !== '0' : process.stdout.isTTY === true,
    columns: process.stdout.columns ?? PIPED_COLUMNS,
  };
}

const STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const;
export type Style = keyof typeof STYLES;

export function paint(terminal: Terminal, style: Style, text: string): string {
  return terminal.color ? `\u001b[${STYLES[style]}m${text}\u001b[0m` : text;
}

// C0 and C1 controls, and the direction marks with which a text can be shown in another order than it is read.
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text on one line, without the characters by which a tool's description could steer the terminal. */
export function plainLine(text: string): string {
  return text.replace(/\s+/g, ' ').replace(CONTROLS, '').trim();
}
