import { isPlainObject } from '../../core/plain-data.js';
import { serverLabel } from '../login/server-errors.js';
import type { McpServerSettings } from '../settings/read-mcp-settings.js';
import { cleanText, itemsIn } from '../translate/foreign-text.js';
import { isMethodNotFound, readPages, type ListName } from './server-answers.js';

/** Sends a request to the server and returns the raw result. */
type Ask = (method: string, params: Readonly<Record<string, unknown>>) => Promise<unknown>;
type Input = Readonly<Record<string, unknown>>;

/** A tool of this program that lets models access a server's resources or prompts. */
interface ResourceTool {
  /**
   * The definition, in the form in which servers list tools. It's the same for every server, so
   * only a new version of this library changes it.
   */
  readonly raw: Readonly<Record<string, unknown>>;
  /** Answers a call in place of the server. */
  readonly answer: (input: Input, ask: Ask) => Promise<unknown>;
}

/** The tools for a server's resources and prompts, by name. */
export type ResourceTools = ReadonlyMap<string, ResourceTool>;

const TOOLS: readonly {
  readonly offer: 'resources' | 'prompts';
  readonly name: string;
  readonly says: string;
  readonly properties?: object;
  readonly required?: readonly string[];
  readonly answer: ResourceTool['answer'];
}[] = [
  {
    offer: 'resources',
    name: 'list_resources',
    says: 'Lists the resources, and the templates for URIs of further resources, of',
    answer: async (_, ask) => ({
      structuredContent: {
        resources: await listed('resources', 'resources/list', ask),
        resourceTemplates: await listed('resourceTemplates', 'resources/templates/list', ask),
      },
    }),
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
    answer: async (_, ask) => ({
      structuredContent: { prompts: await listed('prompts', 'prompts/list', ask) },
    }),
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
 * Returns the tools for a server's resources and prompts, if the server supports them and its
 * settings enable them. A tool of the server with the same name takes precedence.
 *
 * @param listed The server's own tools.
 * @param isWanted Returns true for a tool that the settings allow.
 */
export function resourceTools(
  server: McpServerSettings,
  capabilities: Readonly<Record<string, unknown>>,
  listed: readonly unknown[],
  isWanted: (tool: unknown) => boolean,
): ResourceTools {
  const taken = new Set(listed.map((tool) => isPlainObject(tool) && tool['name']));
  const tools = new Map<string, ResourceTool>();
  for (const { offer, name, says, properties = {}, required = [], answer } of TOOLS) {
    if (!server[offer] || capabilities[offer] === undefined || taken.has(name)) continue;
    const inputSchema = { type: 'object', properties, required, additionalProperties: false };
    const description = `${says} ${serverLabel(server.name)}.`;
    const raw = { name, description, inputSchema, annotations: { readOnlyHint: true } };
    if (isWanted(raw)) tools.set(name, { raw, answer });
  }
  return tools;
}

/** Maximum number of entries in one result. */
const MOST_LISTED = 1_000;
/** Maximum number of characters per field. */
const LONGEST = 2_048;
/** The fields that are shown. */
const SHOWN = [
  ...['uri', 'uriTemplate', 'name', 'title', 'description'],
  ...['mimeType', 'size', 'required', 'arguments'],
];

/** Returns the entries of a list. The result is empty if the server doesn't support the list. */
async function listed(list: ListName, method: string, ask: Ask): Promise<readonly object[]> {
  const entries: object[] = [];
  await readPages(
    (cursor) => ask(method, cursor === undefined ? {} : { cursor }),
    list,
    (item) => isPlainObject(item) && entries.push(shown(item)) >= MOST_LISTED,
  ).catch((error: unknown) => {
    if (!isMethodNotFound(error)) throw error;
  });
  return entries;
}

function shown(item: Input): object {
  const valueOf = (value: unknown) =>
    typeof value === 'string'
      ? cleanText(value, LONGEST)
      : Array.isArray(value)
        ? value.filter(isPlainObject).map(shown)
        : value;
  return Object.fromEntries(
    SHOWN.filter((field) => item[field] !== undefined).map((field) => [
      field,
      valueOf(item[field]),
    ]),
  );
}

/** Reads a resource. Models get its content parts. The result's value describes each part. */
async function readResource({ uri }: Input, ask: Ask): Promise<unknown> {
  const contents = itemsIn(await ask('resources/read', { uri }), 'contents');
  return {
    structuredContent: { contents: contents.map(withoutBytes) },
    content: contents.map((content) => blockOf(content, contents.length > 1)),
  };
}

/**
 * Gets a prompt, with its messages in order. Content parts and value have the same form as in
 * `readResource`.
 */
async function getPrompt({ name, arguments: values = {} }: Input, ask: Ask): Promise<unknown> {
  const result = await ask('prompts/get', { name, arguments: values });
  const messages = itemsIn(result, 'messages').flatMap(({ role, content }) =>
    [content]
      .flat()
      .filter(isPlainObject)
      .map((block) => ({ role, content: block })),
  );
  return {
    structuredContent: {
      messages: messages.map(({ role, content }) => ({ role, content: withoutBytes(content) })),
    },
    content: messages.map(({ role, content }) =>
      content['type'] === 'text' && messages.length > 1
        ? { ...content, text: `${String(role)}: ${String(content['text'])}` }
        : content,
    ),
  };
}

/**
 * Returns a resource's content without its bytes. The content part at the same index has the bytes.
 */
function withoutBytes({ blob: _, data: __, ...rest }: Input): Input {
  const { resource } = rest;
  return isPlainObject(resource) ? { ...rest, resource: withoutBytes(resource) } : rest;
}

/**
 * Returns a resource's content as a content block for a result. If a resource has several texts,
 * each begins with its URI.
 */
function blockOf(content: Input, isOneOfSeveral: boolean): object {
  const { uri, text: words, blob, mimeType } = content;
  if (typeof words === 'string')
    return { type: 'text', text: isOneOfSeveral ? `${String(uri)}:\n${words}` : words };
  const [type] = typeof mimeType === 'string' ? mimeType.split('/') : [];
  return type === 'image' || type === 'audio'
    ? { type, data: blob, mimeType }
    : { type: 'resource', resource: content };
}
