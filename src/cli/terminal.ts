/** Where a command writes, and what it may assume about the reader. */
export interface Terminal {
  /** Results: standard output. */
  out(text: string): void;
  /** Diagnostics: standard error. */
  err(text: string): void;
  /** Whether colours are wanted. */
  readonly color: boolean;
  /** Characters a line; tables are fitted to it. Infinite where no person is reading: there nothing is cut. */
  readonly columns: number;
}

/** Of a terminal that does not say. */
const USUAL_COLUMNS = 80;

/**
 * The terminal of a process. Colours as https://no-color.org asks.
 *
 * It takes standard output for itself: what the user's files print, while they are imported or later, goes to standard
 * error, so that results stay what they are. A reader that leaves early (`… | head`) is no error.
 */
export function processTerminal({ stdout, stderr, env }: NodeJS.Process): Terminal & { flush(): Promise<void> } {
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  for (const stream of [stdout, stderr]) stream.on('error', ignoreClosedReader);
  const { NO_COLOR, FORCE_COLOR } = env;
  return {
    out: (text) => void write(`${text}\n`),
    err: (text) => void stderr.write(`${text}\n`),
    color: NO_COLOR !== undefined && NO_COLOR !== '' ? false : FORCE_COLOR !== undefined ? FORCE_COLOR !== '0' : stdout.isTTY === true,
    columns: stdout.isTTY === true ? stdout.columns || USUAL_COLUMNS : Infinity,
    flush: async () => {
      await new Promise<void>((done) => write('', () => done()));
      await new Promise<void>((done) => stderr.write('', () => done()));
    },
  };
}

function ignoreClosedReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') throw error;
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
