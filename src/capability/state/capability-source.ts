import type { Clock } from '../../core/clock.js';
import { publicMessage } from '../../core/public-message.js';
import { isToolDefinition, type ToolDefinition } from '../../tool/tool-definition.js';
import { type CapabilityFinding, findingAt, placeless } from '../manifest/manifest-issue.js';
import { ownerKey } from '../manifest/persona.js';

/** The answer of a source. */
export interface SourceTools {
  readonly definitions: readonly ToolDefinition[];
  /** The owner of the tools. @default they are shared */
  readonly persona?: string | null;
  /** The problems that still let the source find the rest. */
  readonly issues?: readonly string[];
  /**
   * Joins a tool that is declared elsewhere and has no function with the source's tool that it stands for. `undefined`
   * if there is none. A joined tool replaces the source's own of the same name.
   */
  readonly join?: (declared: ToolDefinition) => ToolDefinition | undefined;
}

/** A source that provides tools while the program runs, such as an MCP server. */
export interface CapabilitySource {
  /** The source's name in findings and tools. */
  readonly name: string;
  /**
   * Reads the current tools.
   *
   * @param options `force` asks to look again, even if the source just has.
   * @throws anything. Then the last tools stay in use, and the failure is reported.
   */
  load(options: { readonly force: boolean }): Promise<SourceTools>;
  /** Calls the listener with the tools when they change, until the returned function is called. */
  onChange?(listener: (tools: SourceTools) => void): () => void;
}

/** The content of a source, or its last content if it failed. */
export interface SourceContent {
  readonly name: string;
  readonly owner: string | null;
  readonly definitions: readonly ToolDefinition[];
  readonly findings: readonly CapabilityFinding[];
  readonly join?: SourceTools['join'];
}

/** The milliseconds after which a source counts as failed, so that it doesn't hold up everything else. */
const LOAD_TIMEOUT_MS = 30_000;

/** Reads a source. Never rejects. */
export async function loadSource(
  source: CapabilitySource,
  force: boolean,
  before: SourceContent | undefined,
  clock: Clock,
): Promise<SourceContent> {
  let cancel = () => {};
  const late = new Promise<never>((_, reject) => {
    cancel = clock.after(LOAD_TIMEOUT_MS, () =>
      reject(new Error(`no answer within ${LOAD_TIMEOUT_MS} ms`)),
    );
  });
  try {
    return sourceContent(source.name, await Promise.race([source.load({ force }), late]), before);
  } catch (failure) {
    return sourceContent(source.name, { failure }, before);
  } finally {
    cancel();
  }
}

/**
 * Returns the content that a source announced. If it fails or announces nonsense, returns the last content. Never
 * throws.
 */
export function sourceContent(
  name: string,
  told: SourceTools | { readonly failure: unknown },
  before: SourceContent | undefined,
): SourceContent {
  try {
    if ('failure' in told) throw told.failure;
    return contentOf(name, told);
  } catch (error) {
    const last = before ?? { name, owner: null, definitions: [] };
    const count = last.definitions.length;
    const kept = count === 0 ? '' : ` The last ${count} tools stay in use.`;
    const message = `Expected tools of ${name}, got a failure: ${publicMessage(error).replace(/[.]$/, '')}.${kept}`;
    const finding = findingAt(placeless(last.owner, name), 'unreadable', 'error', message);
    return { ...last, findings: [finding] };
  }
}

/** @throws anything that a source returns instead of tools. */
function contentOf(
  name: string,
  { definitions, persona = null, issues = [], join }: SourceTools,
): SourceContent {
  if (!definitions.every(isToolDefinition)) throw new TypeError('not all are made with defineTool');
  const owner = ownerKey(persona) === '' ? null : persona;
  const place = placeless(owner, name);
  return {
    name,
    owner,
    definitions,
    findings: issues.map((issue) => findingAt(place, 'invalid', 'error', publicMessage(issue))),
    ...(join && { join }),
  };
}
