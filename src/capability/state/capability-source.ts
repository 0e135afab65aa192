import { publicMessage } from '../../core/public-message.js';
import type { CapabilitySource, SourceTools } from '../../tool/capability-source.js';
import { isToolDefinition, type ToolDefinition } from '../../tool/tool-definition.js';
import { type CapabilityFinding, findingAt, placeless } from '../manifest/manifest-issue.js';
import { ownerKey } from '../manifest/persona.js';

/** A source's content, or its last content if the source failed. */
export interface SourceContent {
  readonly name: string;
  readonly owner: string | null;
  readonly definitions: readonly ToolDefinition[];
  readonly findings: readonly CapabilityFinding[];
  readonly join?: SourceTools['join'];
}

/** Reads a source. Never rejects. */
export async function loadSource(
  source: CapabilitySource,
  force: boolean,
  before: SourceContent | undefined,
): Promise<SourceContent> {
  try {
    return sourceContent(source.name, await source.load({ force }), before);
  } catch (failure) {
    return sourceContent(source.name, { failure }, before);
  }
}

/**
 * Returns a source's content, or its last content if it fails or returns invalid data. Never
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
    const message = `The source ${name} failed: ${publicMessage(error).replace(/[.]$/, '')}.${kept}`;
    const finding = findingAt(placeless(last.owner, name), 'unreadable', 'error', message);
    return { ...last, findings: [finding] };
  }
}

/** @throws an error that describes the value if a source doesn't return tools. */
function contentOf(
  name: string,
  { definitions, persona = null, issues = [], join }: SourceTools,
): SourceContent {
  if (!definitions.every(isToolDefinition))
    throw new TypeError('not all of the tools were made with defineTool');
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
