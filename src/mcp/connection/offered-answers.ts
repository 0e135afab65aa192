import { expectedGot } from '../../core/issues.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import { cleanText } from '../translate/foreign-text.js';
import { isMethodNotFound, readPages, type ListName } from './server-answers.js';

/** Makes a request to the server, and gives the result as it came. */
export type Ask = (method: string, params: Readonly<Record<string, unknown>>) => Promise<unknown>;
export type Input = Readonly<Record<string, unknown>>;

const text = (words: string) => ({ type: 'text', text: words });
const METHODS: Readonly<Record<Exclude<ListName, 'tools'>, string>> = {
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
  prompts: 'prompts/list',
};

/** Reads a list of the server until `take` returns true. One that the server does not have is empty. */
async function read(
  list: keyof typeof METHODS,
  ask: Ask,
  take: (item: Input) => boolean,
): Promise<void> {
  const reading = readPages(
    (cursor) => ask(METHODS[list], cursor === undefined ? {} : { cursor }),
    list,
    (item) => isPlainObject(item) && take(item),
  );
  await reading.catch((error: unknown) =>
    isMethodNotFound(error) ? undefined : Promise.reject(error as Error),
  );
}

/** Entries that one answer lists; a model asks for others by a text that they contain. */
const MOST_LISTED = 1_000;
/** Characters of one field. */
const LONGEST = 2_048;
const SHOWN = [
  'uri',
  'uriTemplate',
  'name',
  'title',
  'description',
  'mimeType',
  'size',
  'required',
  'arguments',
];

/** Lists the resources of a server that contain a text, and the templates by which the URIs of others are made. */
export async function listResources(input: Input, ask: Ask): Promise<unknown> {
  return {
    structuredContent: {
      resources: await listed('resources', input, ask),
      resourceTemplates: await listed('resourceTemplates', input, ask),
    },
  };
}

/** Lists the prompts of a server that contain a text. */
export async function listPrompts(input: Input, ask: Ask): Promise<unknown> {
  return { structuredContent: { prompts: await listed('prompts', input, ask) } };
}

async function listed(
  list: keyof typeof METHODS,
  { contains }: Input,
  ask: Ask,
): Promise<readonly object[]> {
  const entries: object[] = [];
  const wanted = typeof contains === 'string' ? contains.toLowerCase() : '';
  await read(list, ask, (item) => {
    const has = ['uri', 'uriTemplate', 'name', 'title', 'description'].some(
      (field) => typeof item[field] === 'string' && item[field].toLowerCase().includes(wanted),
    );
    return has && entries.push(shown(item)) >= MOST_LISTED;
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

/** Reads a resource that the server lists, or whose URI a template of it makes. The parts are for models, the value says what each is. */
export async function readResource({ uri }: Input, ask: Ask): Promise<unknown> {
  let isListed = false;
  if (typeof uri === 'string' && uri.length <= LONGEST) {
    await read('resources', ask, (item) => (isListed = item['uri'] === uri));
    if (!isListed)
      await read(
        'resourceTemplates',
        ask,
        ({ uriTemplate }) =>
          (isListed = typeof uriTemplate === 'string' && isMadeBy(uriTemplate, uri)),
      );
  }
  if (!isListed)
    return {
      isError: true,
      content: [
        text(
          expectedGot(
            'a URI that the server lists, or one made by a template that it lists',
            describeValue(uri),
          ),
        ),
      ],
    };
  const contents = listIn(await ask('resources/read', { uri }), 'contents');
  return {
    structuredContent: { contents: contents.map(withoutBytes) },
    content: contents.map((content) => blockOf(content, contents.length > 1)),
  };
}

/** Returns what came without its bytes, which are in the part of the same place. */
function withoutBytes({ blob: _, data: __, ...rest }: Input): Input {
  const { resource } = rest;
  return isPlainObject(resource) ? { ...rest, resource: withoutBytes(resource) } : rest;
}

/** Returns the content of a resource as a block of a result; of several texts each is told its URI. */
function blockOf(content: Input, isOneOfSeveral: boolean): object {
  const { uri, text: words, blob, mimeType } = content;
  if (typeof words === 'string') return text(isOneOfSeveral ? `${String(uri)}:\n${words}` : words);
  const [type] = typeof mimeType === 'string' ? mimeType.split('/') : [];
  return type === 'image' || type === 'audio'
    ? { type, data: blob, mimeType }
    : { type: 'resource', resource: content };
}

/** Gets a prompt that the server lists, its messages one after the other; parts and value as those of `readResource`. */
export async function getPrompt({ name, arguments: values }: Input, ask: Ask): Promise<unknown> {
  let isListed = false;
  await read('prompts', ask, (item) => (isListed = item['name'] === name));
  if (!isListed)
    return {
      isError: true,
      content: [
        text(expectedGot('the name of a prompt that the server lists', describeValue(name))),
      ],
    };
  const result = await ask('prompts/get', {
    name,
    ...(values !== undefined && { arguments: values }),
  });
  const messages = listIn(result, 'messages').flatMap(({ role, content }) =>
    [content]
      .flat()
      .filter(isPlainObject)
      .map((block) => ({ role, content: block })),
  );
  const said = (role: unknown, block: Input) =>
    block['type'] === 'text' && messages.length > 1
      ? { ...block, text: `${String(role)}: ${String(block['text'])}` }
      : block;
  return {
    structuredContent: {
      messages: messages.map(({ role, content }) => ({ role, content: withoutBytes(content) })),
    },
    content: messages.map(({ role, content }) => said(role, content)),
  };
}

function listIn(result: unknown, field: string): readonly Input[] {
  const list = isPlainObject(result) ? result[field] : undefined;
  return Array.isArray(list) ? list.filter(isPlainObject) : [];
}

/** Expressions of a template. */
const MOST_EXPRESSIONS = 32;

/**
 * Returns true for a URI that a template makes (RFC 6570). An expression stands for any characters, one without an operator for
 * none of `/?#`. No template can be slow: each of its parts looks at each character once.
 */
export function isMadeBy(template: string, uri: string): boolean {
  const parts = template.split(/\{([^{}]*)\}/);
  if (parts.length > 2 * MOST_EXPRESSIONS + 1 || uri.length > LONGEST) return false;
  let ends = new Set([0]);
  for (const [index, part] of parts.entries()) {
    const next = new Set<number>();
    for (const end of ends) {
      if (index % 2 === 0 && uri.startsWith(part, end)) next.add(end + part.length);
      for (let at = end; index % 2 === 1 && at <= uri.length && !next.has(at); at += 1) {
        next.add(at);
        if (/^\w/.test(part) && '/?#'.includes(uri[at] ?? '/')) break;
      }
    }
    ends = next;
  }
  return ends.has(uri.length);
}
