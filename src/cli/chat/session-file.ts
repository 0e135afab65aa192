import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Session } from '../../chat/session/session.js';
import { ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { isPlainObject } from '../../core/plain-data.js';
import { parseJson } from '../load/read-json.js';
import { replaceFile } from '../load/replace-file.js';
import { readBounded } from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/** The name of the scripted model. */
export const DEMO = 'demo';
/** Bytes: a conversation of many days. */
const MAX_BYTES = 64 * 2 ** 20;

/**
 * A session in a file, which is whole at any time: each state is written beside it, and then takes its place.
 *
 * It is meant for one program at a time; when another one wrote the file meanwhile, it notices at the next change.
 */
export class SessionFile {
  readonly #path: string;
  readonly #name: string;
  #token: string | undefined;

  constructor(file: string, cwd: string) {
    this.#path = resolve(cwd, file);
    this.#name = JSON.stringify(file);
  }

  /**
   * Returns the session of the file, or a new one where there is none.
   *
   * @param model the one that was named; a session goes on with the model that it was begun with, or with one that is named.
   * @throws ToolError `INVALID_SNAPSHOT`, `INVALID_ARGUMENT`.
   */
  async open(model: string | undefined): Promise<Session> {
    this.#token = await this.#read();
    if (this.#token === undefined) return Session.create({ context: { model: model ?? DEMO } });
    const session = Session.fromJSON(parseJson(this.#token, this.#name, 'INVALID_SNAPSHOT'));
    const begun = isPlainObject(session.context) ? session.context['model'] : undefined;
    // The file does not choose which module is imported.
    if (model === undefined && typeof begun === 'string' && begun !== DEMO)
      throw wrongUsage(
        `the model that the session in ${this.#name} was begun with (--model ${begun})`,
        'none',
        `--model ${DEMO} goes on with the script.`,
      );
    return session;
  }

  /** Puts a session in the place of what was read or kept last. @throws ToolError `STALE_SESSION`, `INVALID_ARGUMENT`. */
  async keep(session: Session): Promise<void> {
    if ((await this.#read()) !== this.#token)
      throw new ToolError(
        'STALE_SESSION',
        expectedGot(
          `${this.#name} as it was read`,
          'the changes of another program',
          'Start again to go on with what it holds now.',
        ),
      );
    const text = `${JSON.stringify(session)}\n`;
    try {
      await replaceFile(this.#path, text, 0o600); // What was said is nobody else's.
    } catch (error) {
      throw new ToolError(
        'INVALID_ARGUMENT',
        expectedGot(
          '--session as a file that can be written',
          `${(error as NodeJS.ErrnoException).code ?? 'an error'} for ${this.#name}`,
        ),
        { cause: error },
      );
    }
    this.#token = text;
  }

  async #read(): Promise<string | undefined> {
    const status = await stat(this.#path).catch((error: NodeJS.ErrnoException) => error);
    if (status instanceof Error && status.code === 'ENOENT') return undefined;
    return readBounded(createReadStream(this.#path), MAX_BYTES, this.#name);
  }
}
