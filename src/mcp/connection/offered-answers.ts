import { isPlainObject } from '../../core/plain-data.js';
import { cleanText } from '../translate/foreign-text.js';
import { isMethodNotFound, readPages, type ListName } from './server-answers.js';

/** Sends a request to the server and returns the raw result. */
export type Ask = (method: string, params: Readonly<Record<string, unknown>>) => Promise<unknown>;
export type Input = Readonly<Record<string, unknown>>;

const text = (words: string) => ({ type: 'text', text: words });

/**
 * Maximum number of entries in one result. To find more, a model passes a text that the entries
 * contain.
 */
const MOST_LISTED = 1_000;
/** Maximum number of characters per field. */
const LONGEST = 2_048;
/** The fields that are both searched and shown, and the fields that are only shown. */
const SEARCHED = ['uri', 'uriTemplate', 'name', 'title', 'description'];
const SHOWN = [...SEARCHED, 'mimeType', 'size', 'required', 'arguments'];

/** Lists a server's resources and URI templates that contain a text. */
export async function listResources(input: Input, ask: Ask): Promise<unknown> {
  return {
    structuredContent: {
      resources: await listed('resources', 'resources/list', input, ask),
      resourceTemplates: await listed('resourceTemplates', 'resources/templates/list', input, ask),
    },
  };
}

/** Lists a server's prompts that contain a text. */
export async function listPrompts(input: Input, ask: Ask): Promise<unknown> {
  return { structuredContent: { prompts: await listed('prompts', 'prompts/list', input, ask) } };
}

/**
 * Returns the entries of a list that contain a text. The result is empty if the server doesn't
 * support the list.
 */
async function listed(
  list: ListName,
  method: string,
  { contains }: Input,
  ask: Ask,
): Promise<readonly object[]> {
  const entries: object[] = [];
  const wanted = typeof contains === 'string' ? contains.toLowerCase() : '';
  const take = (item: unknown) =>
    isPlainObject(item) &&
    SEARCHED.some((field) => {
      const said = item[field];
      return typeof said === 'string' && said.toLowerCase().includes(wanted);
    }) &&
    entries.push(shown(item)) >= MOST_LISTED;
  await readPages(
    (cursor) => ask(method, cursor === undefined ? {} : { cursor }),
    list,
    take,
  ).catch((error: unknown) => {
    if (!isMethodNotFound(error)) throw error;
  });
  return entries;
}

function shown(item: Input): object {
  const valueOf = (value: unknown) =>
    typeof value === 'string'
      ? cleanText(value, LONGEST).text
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
export async function readResource({ uri }: Input, ask: Ask): Promise<unknown> {
  const contents = listIn(await ask('resources/read', { uri }), 'contents');
  return {
    structuredContent: { contents: contents.map(withoutBytes) },
    content: contents.map((content) => blockOf(content, contents.length > 1)),
  };
}

/**
 * Gets a prompt, with its messages in order. The content parts and the value have the same form as
 * in `readResource`.
 */
export async function getPrompt(
  { name, arguments: values = {} }: Input,
  ask: Ask,
): Promise<unknown> {
  const result = await ask('prompts/get', { name, arguments: values });
  const messages = listIn(result, 'messages').flatMap(({ role, content }) =>
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
  if (typeof words === 'string') return text(isOneOfSeveral ? `${String(uri)}:\n${words}` : words);
  const [type] = typeof mimeType === 'string' ? mimeType.split('/') : [];
  return type === 'image' || type === 'audio'
    ? { type, data: blob, mimeType }
    : { type: 'resource', resource: content };
}

function listIn(result: unknown, field: string): readonly Input[] {
  const list = isPlainObject(result) ? result[field] : undefined;
  return Array.isArray(list) ? list.filter(isPlainObject) : [];
}
