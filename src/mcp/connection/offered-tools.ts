import { isPlainObject } from '../../core/plain-data.js';
import { labelOf } from '../login/server-errors.js';
import type { McpServerSettings } from '../settings/read-mcp-settings.js';
import { findingOf, quoted, type McpFinding } from '../translate/foreign-text.js';
import {
  getPrompt,
  listPrompts,
  listResources,
  readResource,
  type Ask,
  type Input,
} from './offered-answers.js';

/** A tool of this program that lets models reach the resources or prompts of a server. */
interface OfferedTool {
  /**
   * The definition, as a server would list it. It's the same for every server, so it changes only
   * with this program.
   */
  readonly raw: Readonly<Record<string, unknown>>;
  /** The usual name of the tool; the actual name may be longer. */
  readonly offers: string;
  /** Answers a call, as a server would. */
  readonly answer: (input: unknown, ask: Ask) => Promise<unknown>;
}

/**
 * The tools for a server's resources and prompts, by name, and the problems with the settings that
 * ask for them.
 */
export interface OfferedTools {
  readonly tools: ReadonlyMap<string, OfferedTool>;
  /** The names of all tools that the settings ask for, including excluded ones. */
  readonly names: readonly string[];
  readonly findings: readonly McpFinding[];
}

const CONTAINS = { contains: { type: 'string', description: 'A text that the entries contain' } };
const TOOLS: Readonly<
  Record<
    'resources' | 'prompts',
    readonly {
      readonly name: string;
      readonly says: string;
      readonly properties: object;
      readonly required: readonly string[];
      readonly answer: (input: Input, ask: Ask) => Promise<unknown>;
    }[]
  >
> = {
  resources: [
    {
      name: 'list_resources',
      says: 'Lists the resources, and the templates for URIs of others, of',
      properties: CONTAINS,
      required: [],
      answer: listResources,
    },
    {
      name: 'read_resource',
      says: 'Reads a resource of',
      properties: {
        uri: { type: 'string', description: 'A listed URI, or one that a listed template makes' },
      },
      required: ['uri'],
      answer: readResource,
    },
  ],
  prompts: [
    {
      name: 'list_prompts',
      says: 'Lists the prompts, with their arguments, of',
      properties: CONTAINS,
      required: [],
      answer: listPrompts,
    },
    {
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
  ],
};

/**
 * Returns the tools for the resources and prompts of a server, if its settings ask for them.
 *
 * @param listed The server's own tools. If one of them already has such a name, ours is called
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
  const findings: McpFinding[] = [];
  for (const offer of ['resources', 'prompts'] as const) {
    if (!server[offer]) continue;
    const all = TOOLS[offer].map(({ name: offers, says, properties, required, answer }) => {
      let name = offers;
      while (taken.has(name)) name = `mcp_${name}`;
      const inputSchema = { type: 'object', properties, required, additionalProperties: false };
      const description = `${says} ${labelOf(server.name)}.`;
      const raw = { name, description, inputSchema, annotations: { readOnlyHint: true } };
      const ask: OfferedTool['answer'] = (input, to) =>
        answer(isPlainObject(input) ? input : {}, to);
      return { name, tool: { raw, offers, answer: ask } };
    });
    names.push(...all.map(({ name }) => name));
    const wanted = all.filter(({ tool }) => isWanted(tool.raw));
    const find = (message: string) =>
      findings.push(
        findingOf('settings', server.name, `"${offer}": true has no effect: ${message}`),
      );
    if (capabilities[offer] === undefined)
      find(`the server offers no ${offer}. Remove the setting.`);
    else if (wanted.length === 0)
      find(
        `the settings exclude ${all.map(({ name }) => quoted(name)).join(' and ')}. Add them to "allow_tools".`,
      );
    else for (const { name, tool } of wanted) tools.set(name, tool);
  }
  return { tools, names, findings };
}
