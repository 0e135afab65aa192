import { expectedGot } from '../../core/issues.js';
import { isPlainObject } from '../../core/plain-data.js';
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
import { labelOf } from '../login/server-errors.js';

/** A tool of this program by which models reach what a server offers beside its tools. */
interface OfferedTool {
  /** The definition, as a server would list it. It says nothing of what the server offers, so that it changes only with this program. */
  readonly raw: Readonly<Record<string, unknown>>;
  /** The name of what it does, whatever its name had to be. */
  readonly offers: string;
  /** Answers a call, as a server would. */
  readonly answer: (input: unknown, ask: Ask) => Promise<unknown>;
}

/** The tools for what a server offers, by their names at the server, and what is wrong with the settings that ask for them. */
export interface OfferedTools {
  readonly tools: ReadonlyMap<string, OfferedTool>;
  /** The names of all tools that the settings ask for, also of those that they leave out. */
  readonly names: readonly string[];
  readonly findings: readonly McpFinding[];
}

const text = (description: string) => ({ type: 'string', description });

/** The tools of both offers. */
const TOOLS: readonly {
  readonly offer: 'resources' | 'prompts';
  readonly name: string;
  readonly says: (label: string) => string;
  readonly properties: object;
  readonly required?: string;
  readonly answer: (input: Input, ask: Ask) => Promise<unknown>;
}[] = [
  {
    offer: 'resources',
    name: 'list_resources',
    says: (label) =>
      `Lists the resources of ${label}, and the templates by which the URIs of others are made.`,
    properties: { contains: text('A text that the URI, the name or the description has') },
    answer: listResources,
  },
  {
    offer: 'resources',
    name: 'read_resource',
    says: (label) => `Reads a resource of ${label}.`,
    properties: {
      uri: text('A URI that the server lists, or one made by a template that it lists'),
    },
    required: 'uri',
    answer: readResource,
  },
  {
    offer: 'prompts',
    name: 'list_prompts',
    says: (label) => `Lists the prompts of ${label}, with the arguments that they take.`,
    properties: { contains: text('A text that the name or the description has') },
    answer: listPrompts,
  },
  {
    offer: 'prompts',
    name: 'get_prompt',
    says: (label) => `Gets a prompt of ${label}, with its arguments filled in.`,
    properties: {
      name: text('The name of a prompt that the server lists'),
      arguments: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'The arguments of the prompt, by name',
      },
    },
    required: 'name',
    answer: getPrompt,
  },
];

/**
 * Returns the tools for what a server offers and its settings ask for.
 *
 * @param listed the server's own tools: one that has the name of ours keeps it, and ours is called `mcp_read_resource` and so on.
 * @param isWanted returns true for a tool that the settings allow.
 */
export function offeredTools(
  server: McpServerSettings,
  capabilities: Readonly<Record<string, unknown>>,
  listed: readonly unknown[],
  isWanted: (tool: unknown) => boolean,
): OfferedTools {
  const taken = new Set(
    listed.map((tool) =>
      isPlainObject(tool) && typeof tool['name'] === 'string' ? tool['name'].trim() : '',
    ),
  );
  const tools = new Map<string, OfferedTool>();
  const names: string[] = [];
  const findings: McpFinding[] = [];
  for (const offer of ['resources', 'prompts'] as const) {
    if (!server[offer]) continue;
    const all = TOOLS.filter((tool) => tool.offer === offer).map(
      ({ name, says, properties, required, answer }): [string, OfferedTool] => {
        let free = name;
        while (taken.has(free)) free = `mcp_${free}`;
        const inputSchema = {
          type: 'object',
          properties,
          ...(required !== undefined && { required: [required] }),
          additionalProperties: false,
        };
        return [
          free,
          {
            raw: {
              name: free,
              description: says(labelOf(server.name)),
              inputSchema,
              annotations: { readOnlyHint: true },
            },
            offers: name,
            answer: (input, ask) => answer(isPlainObject(input) ? input : {}, ask),
          },
        ];
      },
    );
    names.push(...all.map(([name]) => name));
    const wanted = all.filter(([, { raw }]) => isWanted(raw));
    if (capabilities[offer] === undefined)
      findings.push(
        findingOf(
          'settings',
          server.name,
          expectedGot(
            `a server that offers ${offer} beside "${offer}": true`,
            'one that does not',
            'Leave the setting out.',
          ),
        ),
      );
    else if (wanted.length === 0)
      findings.push(
        findingOf(
          'settings',
          server.name,
          expectedGot(
            `a tool beside "${offer}": true that the settings allow`,
            `none of ${all.map(([name]) => quoted(name)).join(', ')}`,
            'Name them in "allow_tools".',
          ),
        ),
      );
    else for (const [name, tool] of wanted) tools.set(name, tool);
  }
  return { tools, names, findings };
}
