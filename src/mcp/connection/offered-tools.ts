import { isPlainObject } from '../../core/plain-data.js';
import { labelOf } from '../login/server-errors.js';
import type { McpServerSettings } from '../settings/read-mcp-settings.js';
import { findingOf, type McpFinding } from '../translate/foreign-text.js';
import {
  getPrompt,
  listPrompts,
  listResources,
  readResource,
  type Ask,
  type Input,
} from './offered-answers.js';

/** A tool of this program that lets models access a server's resources or prompts. */
interface OfferedTool {
  /**
   * The definition, in the form in which servers list tools. It's the same for every server, so
   * only a new version of this library changes it.
   */
  readonly raw: Readonly<Record<string, unknown>>;
  /** The tool's usual name. The actual name may be longer. */
  readonly offers: string;
  /** Answers a call in place of the server. */
  readonly answer: (input: unknown, ask: Ask) => Promise<unknown>;
}

/**
 * The tools for a server's resources and prompts, by name, and problems with the settings that
 * enable them.
 */
export interface OfferedTools {
  readonly tools: ReadonlyMap<string, OfferedTool>;
  /** The names of all tools that the settings enable, including excluded tools. */
  readonly names: readonly string[];
  readonly findings: readonly McpFinding[];
}

const CONTAINS = { contains: { type: 'string', description: 'Text that the entries contain' } };
const TOOLS: readonly {
  readonly offer: 'resources' | 'prompts';
  readonly name: string;
  readonly says: string;
  readonly properties: object;
  readonly required?: readonly string[];
  readonly answer: (input: Input, ask: Ask) => Promise<unknown>;
}[] = [
  {
    offer: 'resources',
    name: 'list_resources',
    says: 'Lists the resources, and the templates for URIs of further resources, of',
    properties: CONTAINS,
    answer: listResources,
  },
  {
    offer: 'resources',
    name: 'read_resource',
    says: 'Reads a resource of',
    properties: {
      uri: { type: 'string', description: 'A URI that is listed or matches a listed template' },
    },
    required: ['uri'],
    answer: readResource,
  },
  {
    offer: 'prompts',
    name: 'list_prompts',
    says: 'Lists the prompts, with their arguments, of',
    properties: CONTAINS,
    answer: listPrompts,
  },
  {
    offer: 'prompts',
    name: 'get_prompt',
    says: 'Gets a prompt, with its arguments filled in, of',
    properties: {
      name: { type: 'string', description: 'The name of a listed prompt' },
      arguments: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'The arguments of the prompt, by name',
      },
    },
    required: ['name'],
    answer: getPrompt,
  },
];

/**
 * Returns the tools for a server's resources and prompts, if its settings enable them.
 *
 * @param listed The server's own tools. If one of them already has such a name, the tool is called
 * `mcp_read_resource` and so on.
 * @param isWanted Returns true for a tool that the settings allow.
 */
export function offeredTools(
  server: McpServerSettings,
  capabilities: Readonly<Record<string, unknown>>,
  listed: readonly unknown[],
  isWanted: (tool: unknown) => boolean,
): OfferedTools {
  const taken = new Set(
    listed.map((tool) => (isPlainObject(tool) ? String(tool['name']).trim() : '')),
  );
  const tools = new Map<string, OfferedTool>();
  const names: string[] = [];
  for (const { offer, name: offers, says, properties, required = [], answer } of TOOLS) {
    if (!server[offer]) continue;
    let name = offers;
    while (taken.has(name)) name = `mcp_${name}`;
    names.push(name);
    const inputSchema = { type: 'object', properties, required, additionalProperties: false };
    const description = `${says} ${labelOf(server.name)}.`;
    const raw = { name, description, inputSchema, annotations: { readOnlyHint: true } };
    if (capabilities[offer] !== undefined && isWanted(raw))
      tools.set(name, {
        raw,
        offers,
        answer: (input, ask) => answer(isPlainObject(input) ? input : {}, ask),
      });
  }
  const findings = (['resources', 'prompts'] as const)
    .filter((offer) => server[offer] && capabilities[offer] === undefined)
    .map((offer) =>
      findingOf(
        'settings',
        server.name,
        `"${offer}": true has no effect: the server doesn't support ${offer}. Remove the setting.`,
      ),
    );
  return { tools, names, findings };
}
