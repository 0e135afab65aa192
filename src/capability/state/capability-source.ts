import type { Clock } from '../../core/clock.js';
import { describeValue } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import { isToolDefinition, type ToolDefinition } from '../../tool/tool-definition.js';
import { type CapabilityFinding, findingAt, placeless } from '../manifest/manifest-issue.js';
import { ownerKey } from '../manifest/persona.js';

/** The answer of a source. */
export interface SourceTools {
  readonly definitions: readonly ToolDefinition[];
  /** The owner of the tools; they are shared if it is missing. */
  readonly persona?: string | null;
  /** The problems that did not keep the source from finding the rest. */
  readonly issues?: readonly string[];
  /**
   * Joins a tool that is declared elsewhere and has no function with the source's tool for which it stands; `undefined`
   * if there is none. One of the same name then takes the place of the source's own.
   */
  readonly join?: (declared: ToolDefinition) => ToolDefinition | undefined;
}

/** A source of tools while the program runs, such as an MCP server. */
export interface CapabilitySource {
  /** The name of the source in findings and tools. */
  readonly name: string;
  /**
   * Reads the present tools.
   *
   * @param options `force` asks to look again even if that was done a moment ago.
   * @throws anything: the last tools stay in use, and the failure is a finding.
   */
  load(options: { readonly force: boolean }): Promise<SourceTools>;
  /** Calls the listener with the tools as soon as they have changed, until the returned function is called. */
  onChange?(listener: (tools: SourceTools) => void): () => void;
}

/** The content of a source; for one that failed, its last content. */
export interface SourceContent {
  readonly name: string;
  readonly owner: string | null;
  readonly definitions: readonly ToolDefinition[];
  readonly findings: readonly CapabilityFinding[];
  readonly join?: SourceTools['join'];
}

/** A source that takes longer has failed: it would hold up everything else. */
const LOAD_TIMEOUT_MS = 30_000;

function inTime<T>(loading: Promise<T>, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(LOAD_TIMEOUT_MS, () =>
      reject(new Error(`no answer within ${LOAD_TIMEOUT_MS} ms`)),
    );
    Promise.resolve(loading).finally(cancel).then(resolve, reject);
  });
}

/** Reads a source. Never rejects. */
export async function loadSource(
  source: CapabilitySource,
  force: boolean,
  before: SourceContent | undefined,
  clock: Clock,
): Promise<SourceContent> {
  try {
    return contentOf(source.name, await inTime(source.load({ force }), clock));
  } catch (error) {
    return failedContent(source.name, error, before);
  }
}

/** Reads the announcement of a source. Never throws. */
export function toldContent(
  name: string,
  told: SourceTools,
  before: SourceContent | undefined,
): SourceContent {
  try {
    return contentOf(name, told);
  } catch (error) {
    return failedContent(name, error, before);
  }
}

function failedContent(
  name: string,
  error: unknown,
  before: SourceContent | undefined,
): SourceContent {
  const { owner = null, definitions = [], join } = before ?? {};
  const kept = definitions.length === 0 ? '' : ` The last ${definitions.length} tools stay in use.`;
  const finding = findingAt(
    placeless(owner, name),
    'unreadable',
    'error',
    `Expected tools of ${name}, got a failure: ${publicMessage(error).replace(/[.]$/, '')}.${kept}`,
  );
  return Object.freeze({
    name,
    owner,
    definitions,
    findings: Object.freeze([finding]),
    ...(join && { join }),
  });
}

function contentOf(name: string, tools: SourceTools): SourceContent {
  const { definitions, persona = null, issues = [], join } = tools;
  if (!Array.isArray(definitions))
    throw new TypeError(`Expected a list of definitions, got ${describeValue(definitions)}.`);
  if (persona !== null && (typeof persona !== 'string' || persona.trim() === ''))
    throw new TypeError(`Expected a persona's name or null, got ${describeValue(persona)}.`);
  const owner = persona === null || ownerKey(persona) === '' ? null : persona;
  const place = placeless(owner, name);
  const findings = issues.map((issue) =>
    findingAt(place, 'invalid', 'error', publicMessage(issue)),
  );
  const usable = (definitions as readonly unknown[]).filter(
    (definition): definition is ToolDefinition => {
      if (isToolDefinition(definition)) return true;
      findings.push(
        findingAt(
          place,
          'invalid',
          'error',
          `Expected a tool made with defineTool, got ${describeValue(definition)}.`,
        ),
      );
      return false;
    },
  );
  return Object.freeze({
    name,
    owner,
    definitions: Object.freeze(usable),
    findings: Object.freeze(findings),
    ...(typeof join === 'function' && { join }),
  });
}
