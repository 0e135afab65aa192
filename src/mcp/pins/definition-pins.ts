import { z } from 'zod';
import { shownPath } from '../../capability/manifest/manifest-files.js';
import { ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { RecentMap } from '../../core/recent-map.js';
import { checkOptions, type FieldsOf } from '../../core/options.js';
import {
  diffDefinitions,
  findingsOf,
  type DefinitionChange,
  type PinFinding,
  type ServerListing,
} from './definition-changes.js';
import { writeLockFile, lockTextOf, readLockFile, readLockText } from './lock-file.js';
import { keyOf, pinOf, sortedPins, type Pin, type PinnedDefinition, type PinTable } from './pin.js';

/** The options of pins. */
export interface DefinitionPinsOptions {
  /**
   * The treatment of a tool without a pin: `quarantine` withholds it until it is approved, `trust` pins its first
   * definition and withholds different ones later.
   *
   * @default 'quarantine' with a lock file or its text; 'trust' for pins that begin empty
   */
  readonly onNew?: 'trust' | 'quarantine';
}

const optionsSchema = z.strictObject({
  onNew: z.enum(['trust', 'quarantine']).default('trust'),
} satisfies FieldsOf<DefinitionPinsOptions>);

/** The default lock file of a repository. */
export const DEFAULT_LOCK_FILE = 'tooldex-pins.json';

/** The maximum numbers of withheld tools that are remembered, and of tools of one server that are trusted at first sight. Otherwise a server with new names in every listing would fill the memory. */
const MOST_QUARANTINED = 2_000;
const MOST_TRUSTED = 2_000;

/** A tool that is withheld, as it was last seen. */
export interface QuarantinedTool {
  readonly server: string;
  readonly tool: string;
  readonly kind: 'new' | 'changed';
  /** The definition for `approve`, once you have reviewed it. */
  readonly definition: PinnedDefinition;
}

/**
 * Notices when a server changes the definition of a tool after it was reviewed.
 *
 * A pin is the SHA-256 over a tool's whole definition: name, title, description, schemas, annotations and every other
 * field, in canonical JSON. Any changed, added or removed value breaks it; another order of keys does not. A broken pin
 * withholds the tool until it is approved; with a lock file, a tool that has no pin is withheld too.
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
  readonly #quarantine = new RecentMap<string, QuarantinedTool>(MOST_QUARANTINED);
  /** The text of the lock file as it was read or written last. */
  #text: string | undefined;
  /** The last save: one at a time, or an earlier one could end last. */
  #saving: Promise<unknown> = Promise.resolve();

  /** Makes empty pins that trust the first definition of each tool. @throws ToolError `INVALID_ARGUMENT` for wrong options. */
  constructor(options: DefinitionPinsOptions = {}) {
    this.#options = checkOptions(optionsSchema, options, 'options of the pins');
  }

  /**
   * Loads the pins of a lock file. Tools that are not in it are withheld.
   *
   * @throws ToolError `INVALID_ARGUMENT` for wrong options, and for a file that is missing, cut off or edited by hand.
   */
  static async load(
    file: string = DEFAULT_LOCK_FILE,
    options: DefinitionPinsOptions = {},
  ): Promise<DefinitionPins> {
    const pins = new DefinitionPins(strictly(options));
    const text = await readLockFile(file);
    if (text === undefined)
      throw new ToolError(
        'INVALID_ARGUMENT',
        expectedGot(
          `a lock file ${shownPath(file)}`,
          'none',
          'Run tooldex mcp pins approve --all, which makes it from what the servers list now.',
        ),
      );
    pins.#pins = readLockText(text, shownPath(file));
    pins.#file = file;
    pins.#text = text;
    return pins;
  }

  /** Reads the pins of a lock file's text. @throws ToolError `INVALID_ARGUMENT` as `load`. */
  static fromJson(text: string, options: DefinitionPinsOptions = {}): DefinitionPins {
    const pins = new DefinitionPins(strictly(options));
    pins.#pins = readLockText(text, 'of pins');
    return pins;
  }

  /** Returns the text of a lock file. Equal pins give equal bytes. */
  toJson(): string {
    return lockTextOf(this.#pins);
  }

  /** Returns the pinned tools, by server and name. */
  pinned(): readonly { readonly server: string; readonly tool: string; readonly digest: string }[] {
    return Object.freeze(
      sortedPins(this.#pins).map(({ server, tool, digest }) =>
        Object.freeze({ server, tool, digest }),
      ),
    );
  }

  /** The number of pinned tools. */
  get size(): number {
    return this.#pins.size;
  }

  /**
   * Decides if a definition may be used. A withheld definition is in `quarantined()` from then on.
   *
   * If new tools are trusted, it pins the first definition of a tool. It never throws.
   *
   * @param tool the definition as the server sent it.
   * @returns the reason, as a sentence, for a definition that is withheld.
   */
  check(
    server: string,
    tool: unknown,
  ):
    | { readonly ok: true }
    | { readonly ok: false; readonly kind: 'new' | 'changed'; readonly reason: string } {
    const pinnable = pinOf(server, tool);
    const key = pinnable.tool === undefined ? '' : keyOf(server, pinnable.tool);
    const pinned = this.#pins.get(key);
    const kind = pinned === undefined ? 'new' : 'changed';
    if (!pinnable.ok) return { ok: false, kind, reason: pinnable.reason };
    const { pin } = pinnable;
    if (pinned?.digest === pin.digest) {
      this.#quarantine.delete(key);
      return { ok: true };
    }
    if (
      pinned === undefined &&
      this.#options.onNew === 'trust' &&
      [...this.#pins.values()].filter((each) => each.server === server).length < MOST_TRUSTED
    ) {
      this.#pins.set(key, pin);
      return { ok: true };
    }
    this.#quarantine.set(
      key,
      Object.freeze({ server, tool: pin.tool, kind, definition: pin.definition }),
    );
    return { ok: false, kind, reason: REASONS[kind] };
  }

  /** Returns the tools that `check` has withheld and that can be approved, in the order in which they were last seen. */
  quarantined(): readonly QuarantinedTool[] {
    return Object.freeze([...this.#quarantine.values()]);
  }

  /**
   * Returns the differences between a definition and the pinned one. For a tool without a pin everything is new.
   *
   * @throws ToolError `INVALID_ARGUMENT` for what cannot be pinned.
   */
  diff(server: string, tool: unknown): readonly DefinitionChange[] {
    const pin = pinOrThrow(server, tool);
    return diffDefinitions(
      this.#pins.get(keyOf(server, pin.tool))?.definition ?? {},
      pin.definition,
    );
  }

  /** Returns all differences between the servers and the pins, by server and tool. It changes nothing. */
  verify(listings: readonly ServerListing[]): readonly PinFinding[] {
    return findingsOf(this.#pins, listings);
  }

  /** Pins a definition and replaces the old pin; call `save` to keep it. @throws ToolError `INVALID_ARGUMENT` for what cannot be pinned. */
  approve(server: string, tool: unknown): void {
    const pin = pinOrThrow(server, tool);
    const key = keyOf(server, pin.tool);
    this.#pins.set(key, pin);
    this.#quarantine.delete(key);
  }

  /** Forgets the pin of a tool and returns true if there was one; call `save` to keep that. */
  remove(server: string, tool: string): boolean {
    return this.#pins.delete(keyOf(server, tool));
  }

  /**
   * Writes all pins into the lock file and replaces its content.
   *
   * If another process has changed the file since these pins read or wrote it, nothing is written: its approvals would be
   * lost.
   *
   * @param file @default the file of `load`, or else `tooldex-pins.json`
   * @throws ToolError `INVALID_ARGUMENT` for a file that another process has changed or that cannot be written,
   * `LIMIT_EXCEEDED` for more than 16 Mi characters.
   */
  save(file: string = this.#file ?? DEFAULT_LOCK_FILE): Promise<void> {
    const saved = this.#saving.then(async () => {
      if (file === this.#file && (await readLockFile(file)) !== this.#text)
        throw new ToolError(
          'INVALID_ARGUMENT',
          `Another process has changed ${shownPath(file)}. Load it again, and repeat the approval.`,
        );
      this.#text = await writeLockFile(file, this.#pins);
      this.#file = file;
    });
    this.#saving = saved.catch(() => {}); // The caller gets the error.
    return saved;
  }
}

const LOOK = 'Look at it (tooldex mcp pins diff) and approve it (tooldex mcp pins approve <tool>).';
const REASONS = Object.freeze({
  new: expectedGot('a tool that is pinned', 'a new one', LOOK),
  changed: expectedGot('the definition that was pinned', 'another', LOOK),
});

function strictly(options: DefinitionPinsOptions): DefinitionPinsOptions {
  return { ...options, onNew: options.onNew ?? 'quarantine' };
}

function pinOrThrow(server: string, tool: unknown): Pin {
  const pinnable = pinOf(server, tool);
  if (!pinnable.ok) throw new ToolError('INVALID_ARGUMENT', pinnable.reason);
  return pinnable.pin;
}
