import { ToolError } from '../../core/errors.js';
import { shownPath } from '../../capability/manifest/read-file.js';
import { diffDefinitions, type DefinitionChange } from './diff-definitions.js';
import { changeLockFile, readLockFile } from './lock-file.js';
import { lockTextOf, readLockText } from './lock-text.js';
import { pinOf, type Pin, type PinnedDefinition } from './pin.js';
import { findingsOf, type PinFinding, type ServerListing } from './pin-findings.js';
import { checkPinOptions, type DefinitionPinsOptions } from './pin-options.js';
import { PinTable } from './pin-table.js';

/** The lock file of a repository, where no other is named. */
export const DEFAULT_LOCK_FILE = 'tooldex-pins.json';

/** Tools that are remembered as held back, in all, and that are trusted at first sight, of one server: twice what a listing may hold. A server that lists other names every time would fill the memory. */
const MOST_QUARANTINED = 2_000;
const MOST_TRUSTED = 2_000;

/** Whether a definition may be used; otherwise in one sentence why not. */
export type PinCheck = { readonly ok: true } | { readonly ok: false; readonly kind: 'new' | 'changed'; readonly reason: string };

/** A tool that is held back, as it was last seen. */
export interface QuarantinedTool {
  readonly server: string;
  readonly tool: string;
  readonly kind: 'new' | 'changed';
  /** What to hand to `approve` once somebody has looked at it. */
  readonly definition: PinnedDefinition;
}

/**
 * Notices when a server changes the definition of a tool after somebody looked at it.
 *
 * A pin is the SHA-256 over a tool's whole definition: name, title, description, schemas, annotations and every other
 * field, in canonical JSON. Any changed, added or removed value breaks it; another order of keys does not. A broken pin
 * holds the tool back until it is approved, and so does, with a lock file, a tool that has no pin.
 *
 * ```js
 * const pins = await DefinitionPins.load('tooldex-pins.json');
 * const discovery = new McpDiscovery(settings, { pins });
 * ```
 */
export class DefinitionPins {
  readonly #options: Required<DefinitionPinsOptions>;
  #file: string | undefined;
  #pins = new PinTable();
  /** What was decided here since the last save, in order: saving repeats it on the file as it is then. */
  #unsaved: ((pins: PinTable) => void)[] = [];
  readonly #quarantine = new Map<string, QuarantinedTool>();
  /** The last save: one at a time, or the second would forget what the first did not write. */
  #saving: Promise<unknown> = Promise.resolve();

  /** Pins that begin empty and trust what they see first. @throws ToolError `INVALID_ARGUMENT` for wrong options. */
  constructor(options: DefinitionPinsOptions = {}) {
    this.#options = checkPinOptions(options);
  }

  /**
   * The pins of a lock file, which holds back tools that are not in it.
   *
   * @throws ToolError `INVALID_ARGUMENT` for wrong options, and for a file that is missing, cut off or edited by hand:
   * without it every tool would look new, and pass where new tools are trusted.
   */
  static async load(file: string = DEFAULT_LOCK_FILE, options: DefinitionPinsOptions = {}): Promise<DefinitionPins> {
    const pins = new DefinitionPins(strictly(options));
    const table = await readLockFile(file);
    if (table === undefined) throw new ToolError('INVALID_ARGUMENT', `expected a lock file ${shownPath(file)}, found none; tooldex mcp pins approve --all makes it from what the servers list now`);
    pins.#pins = table;
    pins.#file = file;
    return pins;
  }

  /** The pins of a lock file's text. @throws ToolError `INVALID_ARGUMENT` as `load`. */
  static fromJson(text: string, options: DefinitionPinsOptions = {}): DefinitionPins {
    const pins = new DefinitionPins(strictly(options));
    pins.#pins = readLockText(text, 'of pins');
    return pins;
  }

  /** The text of a lock file. Equal pins give equal bytes. */
  toJson(): string {
    return lockTextOf(this.#pins);
  }

  /** The pinned tools, by server and name. */
  pinned(): readonly { readonly server: string; readonly tool: string; readonly digest: string }[] {
    return Object.freeze([...this.#pins.entries()].map(([server, tool, { digest }]) => Object.freeze({ server, tool, digest })));
  }

  /** How many tools are pinned. */
  get size(): number {
    return this.#pins.size;
  }

  /**
   * Whether a definition may be used; what may not is in `quarantined()` from now on.
   *
   * Where new tools are trusted, the first definition of a tool is pinned by this. Never throws, whatever the definition.
   *
   * @param tool the definition as the server sent it.
   */
  check(server: string, tool: unknown): PinCheck {
    const pinnable = pinOf(tool);
    if (!pinnable.ok) return { ok: false, kind: pinnable.name !== undefined && this.#pins.get(server, pinnable.name) !== undefined ? 'changed' : 'new', reason: pinnable.reason };
    const { name, pin } = pinnable;
    const pinned = this.#pins.get(server, name);
    if (pinned?.digest === pin.digest) {
      this.#quarantine.delete(keyOf(server, name));
      return { ok: true };
    }
    if (pinned === undefined && this.#options.onNew === 'trust' && this.#pins.countOf(server) < MOST_TRUSTED) {
      // One that another process approved meanwhile stays as it is.
      this.#decide((pins) => pins.get(server, name) === undefined && pins.set(server, name, pin));
      return { ok: true };
    }
    const kind = pinned === undefined ? 'new' : 'changed';
    this.#quarantine.set(keyOf(server, name), Object.freeze({ server, tool: name, kind, definition: pin.definition }));
    const [oldest] = this.#quarantine.keys();
    if (this.#quarantine.size > MOST_QUARANTINED && oldest !== undefined) this.#quarantine.delete(oldest);
    return { ok: false, kind, reason: REASONS[kind] };
  }

  /** The tools that `check` last held back and that can be approved, in the order in which they were first seen. */
  quarantined(): readonly QuarantinedTool[] {
    return Object.freeze([...this.#quarantine.values()]);
  }

  /**
   * What differs between a definition and the pinned one; empty for equal ones. Of a tool without a pin everything is new.
   *
   * @throws ToolError `INVALID_ARGUMENT` for what cannot be pinned.
   */
  diff(server: string, tool: unknown): readonly DefinitionChange[] {
    const { name, pin } = pinOrThrow(tool);
    return diffDefinitions(this.#pins.get(server, name)?.definition ?? {}, pin.definition);
  }

  /** Everything by which the servers and the pins differ, by server and tool. Nothing is pinned or held back by it. */
  verify(listings: readonly ServerListing[]): readonly PinFinding[] {
    return findingsOf(this.#pins, listings);
  }

  /** Pins a definition, in place of what was pinned; lasts once it is saved. @throws ToolError `INVALID_ARGUMENT` for what cannot be pinned. */
  approve(server: string, tool: unknown): void {
    const { name, pin } = pinOrThrow(tool);
    this.#decide((pins) => pins.set(server, name, pin));
    this.#quarantine.delete(keyOf(server, name));
  }

  /** Forgets the pin of a tool, and says whether there was one; lasts once it is saved. */
  remove(server: string, tool: string): boolean {
    const had = this.#pins.get(server, tool) !== undefined;
    this.#decide((pins) => pins.delete(server, tool));
    return had;
  }

  /**
   * Writes what was approved, removed and trusted since the last save into the lock file, beside what other processes wrote
   * there meanwhile.
   *
   * @param file that of `load` when missing, or else `tooldex-pins.json`.
   * @throws ToolError `INVALID_ARGUMENT` for a file that is refused or cannot be written, `LIMIT_EXCEEDED` for more than
   * 16 Mi characters, and `STATE_UNAVAILABLE` when another process does not finish. Nothing is changed then.
   */
  save(file: string = this.#file ?? DEFAULT_LOCK_FILE): Promise<void> {
    const saved = this.#saving.then(() => this.#save(file));
    this.#saving = saved.catch(() => {}); // Whoever asked for it is told.
    return saved;
  }

  async #save(file: string): Promise<void> {
    // Into a file of its own goes everything, and not only what was decided since.
    const whole = file === this.#file ? [] : [...this.#pins.entries()].map(([server, tool, pin]) => (pins: PinTable) => pins.set(server, tool, pin));
    const decided = [...this.#unsaved];
    const saved = await changeLockFile(file, (pins) => [...whole, ...decided].forEach((each) => each(pins)), this.#options.clock);
    this.#unsaved.splice(0, decided.length);
    for (const each of this.#unsaved) each(saved); // Decided while it was written.
    this.#pins = saved;
    this.#file = file;
  }

  #decide(change: (pins: PinTable) => unknown): void {
    change(this.#pins);
    this.#unsaved.push((pins) => void change(pins));
  }
}

const REASONS = Object.freeze({
  new: 'expected a tool that is pinned, found a new one; look at it (tooldex mcp pins diff) and approve it (tooldex mcp pins approve <tool>)',
  changed: 'expected the definition that was pinned, found another; look at it (tooldex mcp pins diff) and approve it (tooldex mcp pins approve <tool>)',
});

function strictly(options: DefinitionPinsOptions): DefinitionPinsOptions {
  return { ...options, onNew: options.onNew ?? 'quarantine' };
}

function keyOf(server: string, tool: string): string {
  return JSON.stringify([server, tool]);
}

function pinOrThrow(tool: unknown): { readonly name: string; readonly pin: Pin } {
  const pinnable = pinOf(tool);
  if (!pinnable.ok) throw new ToolError('INVALID_ARGUMENT', pinnable.reason);
  return pinnable;
}
