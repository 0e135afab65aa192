import type { Clock } from '../core/clock.js';
import { publicMessage } from '../core/public-message.js';
import { describeValue } from '../core/plain-data.js';
import { isToolDefinition, type ToolDefinition } from '../tool/tool-definition.js';
import { ownerKey } from './query/persona-filter.js';
import { findingAt, placeless, type CapabilityFinding } from './finding.js';

/** What a source found. */
export interface SourceTools {
  readonly definitions: readonly ToolDefinition[];
  /** Whose the tools are; they are shared when it is missing. */
  readonly persona?: string | null;
  /** What is wrong and did not keep the source from finding the rest. */
  readonly issues?: readonly string[];
}

/** Somewhere tools come from while the program runs, such as an MCP server. */
export interface CapabilitySource {
  /** How findings and tools name it. */
  readonly name: string;
  /**
   * Looks which tools there are now.
   *
   * @param options `force` asks to look again even if that was done a moment ago.
   * @throws anything: the tools found last stay in use, and the failure is a finding.
   */
  load(options: { readonly force: boolean }): Promise<SourceTools>;
}

/** What is known of a source: of one that failed, what it found last. */
export interface SourceContent {
  readonly name: string;
  readonly owner: string | null;
  readonly definitions: readonly ToolDefinition[];
  readonly findings: readonly CapabilityFinding[];
}

/** A source that takes longer has failed: it would hold up everything else. */
const LOAD_TIMEOUT_MS = 30_000;

function inTime<T>(loading: Promise<T>, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(LOAD_TIMEOUT_MS, () => reject(new Error(`no answer within ${LOAD_TIMEOUT_MS} ms`)));
    Promise.resolve(loading).finally(cancel).then(resolve, reject);
  });
}

/** Asks a source. Never rejects. */
export async function loadSource(source: CapabilitySource, force: boolean, before: SourceContent | undefined, clock: Clock): Promise<SourceContent> {
  try {
    return contentOf(source.name, await inTime(source.load({ force }), clock));
  } catch (error) {
    const owner = before?.owner ?? null;
    const kept = before === undefined || before.definitions.length === 0 ? '' : `; the ${before.definitions.length} tools found last stay in use`;
    const finding = findingAt(placeless(owner, source.name), 'unreadable', 'error', `expected tools of ${source.name}, found a failure: ${publicMessage(error)}${kept}`);
    return Object.freeze({ name: source.name, owner, definitions: before?.definitions ?? [], findings: Object.freeze([finding]) });
  }
}

function contentOf(name: string, found: SourceTools): SourceContent {
  const { definitions, persona = null, issues = [] } = found;
  if (!Array.isArray(definitions)) throw new TypeError(`expected a list of definitions, found ${describeValue(definitions)}`);
  if (persona !== null && (typeof persona !== 'string' || persona.trim() === '')) throw new TypeError(`expected a persona's name or null, found ${describeValue(persona)}`);
  const owner = persona === null || ownerKey(persona) === '' ? null : persona;
  const place = placeless(owner, name);
  const findings = issues.map((issue) => findingAt(place, 'invalid', 'error', publicMessage(issue)));
  const usable = (definitions as readonly unknown[]).filter((definition): definition is ToolDefinition => {
    if (isToolDefinition(definition)) return true;
    findings.push(findingAt(place, 'invalid', 'error', `expected a tool made with defineTool, found ${describeValue(definition)}`));
    return false;
  });
  return Object.freeze({ name, owner, definitions: Object.freeze(usable), findings: Object.freeze(findings) });
}
