import { z } from 'zod';
import { ToolError } from '../../core/errors.js';
import { shownPath } from '../../host/shown-path.js';
import { checkOptions, type FieldsOf } from '../../core/options.js';
import { findingsAboutChanges, type PinFinding, type ServerListing } from './definition-changes.js';
import { writeLockFile, readLockFile, readLockText } from './lock-file.js';
import { pinKeyOf, pinOf, type PinTable } from './pin.js';

/** Options for `DefinitionPins`. */
export interface DefinitionPinsOptions {
  /**
   * The treatment of a tool without a pin: `quarantine` withholds the tool until it's approved;
   * `trust` pins its first definition and withholds any later, different definition.
   *
   * @default 'quarantine' if you load a lock file, 'trust' for pins that start empty
   */
  readonly onNew?: 'trust' | 'quarantine';
}

const optionsSchema = z.strictObject({
  onNew: z.enum(['trust', 'quarantine']).default('trust'),
} satisfies FieldsOf<DefinitionPinsOptions>);

/** The default lock file in a repository. */
export const DEFAULT_LOCK_FILE = 'tooldex-pins.json';

/**
 * Maximum number of tools per server that are trusted at first sight. Without a limit, a server
 * with new names in every listing would exhaust the memory.
 */
const MOST_TRUSTED = 2_000;

/**
 * Detects changes that a server makes to a tool's definition after somebody has reviewed it.
 *
 * A pin is the SHA-256 of a tool's whole definition in canonical JSON: name, title, description,
 * schemas, annotations and every other field. Any changed, added or removed value breaks the pin; a
 * different key order doesn't. A tool with a broken pin is withheld until somebody approves it.
 * With a lock file, tools without a pin are also withheld.
 *
 * ```js
 * const pins = await DefinitionPins.load('tooldex-pins.json');
 * const discovery = new McpDiscovery(settings, { pins });
 * ```
 */
export class DefinitionPins {
  readonly #options: Required<DefinitionPinsOptions>;
  #file: string | undefined;
  #pins: PinTable = new Map();
  /** The lock file's text, as last read or written. */
  #text: string | undefined;

  /**
   * Creates empty pins that trust the first definition of each tool.
   * @throws ToolError `INVALID_ARGUMENT` for invalid options.
   */
  constructor(options: DefinitionPinsOptions = {}) {
    this.#options = checkOptions(optionsSchema, options, 'options of the pins');
  }

  /**
   * Loads the pins from a lock file. Tools that aren't in it are withheld.
   *
   * @throws ToolError `INVALID_ARGUMENT` for invalid options, or if the file is missing, truncated
   * or edited by hand.
   */
  static async load(
    file: string = DEFAULT_LOCK_FILE,
    options: DefinitionPinsOptions = {},
  ): Promise<DefinitionPins> {
    const pins = new DefinitionPins({ onNew: 'quarantine', ...options });
    const text = await readLockFile(file);
    if (text === undefined)
      throw new ToolError(
        'INVALID_ARGUMENT',
        `The lock file ${shownPath(file)} doesn't exist. Run tooldex mcp pins approve --all to create it from the tools that the servers list now.`,
      );
    pins.#pins = readLockText(text, shownPath(file));
    pins.#file = file;
    pins.#text = text;
    return pins;
  }

  /** The number of pinned tools. */
  get size(): number {
    return this.#pins.size;
  }

  /**
   * Decides if a definition may be used. If `onNew` is `trust`, pins a new tool's definition. Never
   * throws.
   *
   * @param tool The definition as the server sent it.
   * @returns the reason, as a sentence, if the definition is withheld.
   */
  check(
    server: string,
    tool: unknown,
  ):
    | { readonly ok: true }
    | { readonly ok: false; readonly kind: 'new' | 'changed'; readonly reason: string } {
    const pinnable = pinOf(server, tool);
    const key = pinnable.tool === undefined ? '' : pinKeyOf(server, pinnable.tool);
    const pinned = this.#pins.get(key);
    const kind = pinned === undefined ? 'new' : 'changed';
    if (!pinnable.ok) return { ok: false, kind, reason: pinnable.reason };
    const { pin } = pinnable;
    if (pinned?.digest === pin.digest) return { ok: true };
    if (
      pinned === undefined &&
      this.#options.onNew === 'trust' &&
      [...this.#pins.values()].filter((each) => each.server === server).length < MOST_TRUSTED
    ) {
      this.#pins.set(key, pin);
      return { ok: true };
    }
    return { ok: false, kind, reason: REASONS[kind] };
  }

  /**
   * Returns all differences between the servers and the pins, by server and tool. Changes nothing.
   */
  verify(listings: readonly ServerListing[]): readonly PinFinding[] {
    return findingsAboutChanges(this.#pins, listings);
  }

  /**
   * Pins a definition, replacing the old pin. Call `save` to store the pin.
   * @throws ToolError `INVALID_ARGUMENT` if the definition can't be pinned.
   */
  approve(server: string, tool: unknown): void {
    const pinnable = pinOf(server, tool);
    if (!pinnable.ok) throw new ToolError('INVALID_ARGUMENT', pinnable.reason);
    this.#pins.set(pinKeyOf(server, pinnable.tool), pinnable.pin);
  }

  /** Removes a tool's pin and returns true if there was one. Call `save` to store the change. */
  remove(server: string, tool: string): boolean {
    return this.#pins.delete(pinKeyOf(server, tool));
  }

  /**
   * Writes all pins to the lock file, replacing its content.
   *
   * If another process has changed the file since these pins read or wrote it, nothing is written.
   * Otherwise that process's approvals would be lost.
   *
   * @param file
   * @default the file passed to `load`, or else `tooldex-pins.json`
   * @throws ToolError `INVALID_ARGUMENT` if another process has changed the file or it can't be
   * written.
   */
  async save(file: string = this.#file ?? DEFAULT_LOCK_FILE): Promise<void> {
    if (file === this.#file && (await readLockFile(file)) !== this.#text)
      throw new ToolError(
        'INVALID_ARGUMENT',
        `Another process has changed ${shownPath(file)}. Load it again, and repeat your approvals.`,
      );
    this.#text = await writeLockFile(file, this.#pins);
    this.#file = file;
  }
}

const LOOK = 'Review it (tooldex mcp pins diff) and approve it (tooldex mcp pins approve <tool>).';
const REASONS = Object.freeze({
  new: `The tool isn't pinned yet. ${LOOK}`,
  changed: `The definition has changed since it was pinned. ${LOOK}`,
});
