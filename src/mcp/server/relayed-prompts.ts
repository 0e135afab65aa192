import type { GetPromptResult, Prompt } from '@modelcontextprotocol/server';
import type { ContentPart } from '../../tool/content.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { blockOfPart } from '../translate/content-blocks.js';
import { itemsIn, type Answer, type Asked, type Item, type Relay } from './relay.js';

/** The prompts of the servers behind this one. They're named like these servers' tools. */
export class RelayedPrompts {
  readonly #relay: Relay;
  readonly #names: 'safe' | 'original';

  constructor(relay: Relay, names: 'safe' | 'original') {
    this.#relay = relay;
    this.#names = names;
  }

  async list(by: Asked): Promise<Prompt[]> {
    const listed = await this.#relay.lists('list_prompts', by);
    return listed.flatMap(({ entry, value }) =>
      itemsIn(value, 'prompts').map((item) => ({
        ...(item as Prompt),
        name: this.#prefixOf(entry) + String(item['name']),
      })),
    );
  }

  async get(
    name: string,
    values: Readonly<Record<string, string>>,
    by: Asked,
  ): Answer<GetPromptResult> {
    const { entry, own } = this.owner(name, by);
    return this.#relay.call(entry, { name: own, arguments: values }, by, messagesIn);
  }

  /**
   * Returns the tool that gets a prompt, and the prompt's name at its server.
   * @throws ProtocolError if no server has the prompt.
   */
  owner(name: string, by: Asked): { readonly entry: ToolEntry; readonly own: string } {
    const entries = this.#relay.tools.offering('get_prompt', by.context);
    const entry = entries.find((each) => name.startsWith(this.#prefixOf(each)));
    if (entry === undefined)
      throw this.#relay.invalid(
        `This server has no prompt named ${JSON.stringify(name.slice(0, 128))}.`,
      );
    return { entry, own: name.slice(this.#prefixOf(entry).length) };
  }

  #prefixOf({ metadata }: ToolEntry): string {
    const { prefix = '' } = (metadata?.['mcp'] ?? {}) as { readonly prefix?: string };
    return this.#names === 'safe' ? prefix.replaceAll('.', '__') : prefix;
  }
}

function messagesIn(value: unknown, parts: readonly ContentPart[]): GetPromptResult {
  return {
    messages: itemsIn(value, 'messages').map((message, at) => {
      const part = parts[at];
      return (message['content'] as Item)['type'] === 'text' || part === undefined
        ? message
        : { ...message, content: blockOfPart(part) };
    }) as GetPromptResult['messages'],
  };
}
