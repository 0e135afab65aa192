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

/** A tool of this program that lets models access a server's resources or prompts. */
interface OfferedTool {
  /**
   * The definition, in the form in which a server would list it. It's the same for every server, so
   * it only changes with this program.
   */
  readonly raw: Readonly<Record<string, unknown>>;
  /** The tool's usual name. The actual name may be longer. */
  readonly offers: string;
  /** Answers a call like a server would. */
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
      says: 'Lists the resources, and the templates for URIs of further resources, of',
      properties: CONTAINS,
      required: [],
      answer: listResources,
    },
    {
      name: 'read_resource',
      says: 'Reads a resource of',
      properties: {
        uri: { type: 'string', description: 'A URI that is listed or matches a listed template' },
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
      find(`the server doesn't support ${offer}. Remove the setting.`);
    else if (wanted.length === 0)
      find(
        `the settings exclude ${all.map(({ name }) => quoted(name)).join(' and ')}. Add them to "allow_tools".`,
      );
    else for (const { name, tool } of wanted) tools.set(name, tool);
  }
  return { tools, names, findings };
}
