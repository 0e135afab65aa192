import { scriptedModel, type ModelStep } from '../../chat.js';
import type { Json } from '../../core/plain-data.js';
import { sampleOf } from '../../json-schema/sample-value.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';

/**
 * Returns a scripted model, so that a chat needs no key. It takes the name of a tool with its arguments, such as
 * `read_file {"path": "a.txt"}`, makes that call, and answers with the result. It keeps no state.
 */
export function demoModel(registry: ToolMetadataRegistry): ModelStep {
  return (request) => {
    const { messages } = request;
    const say = (text: string) => scriptedModel([{ text }])(request);
    const last = messages.at(-1);
    if (last?.role === 'tool') {
      const output = JSON.stringify(last.content.at(-1)?.output, (_, value: unknown) =>
        value instanceof Uint8Array ? '[bytes]' : value,
      );
      return say(`The tool answered: ${output}`);
    }
    const at = messages.findLastIndex(({ role }) => role === 'user');
    const text = messages[at]?.content;
    const words = typeof text === 'string' ? text : '';
    const [, name = '', json = ''] = /^\s*([\w.-]+)\s*(\{.*)?$/s.exec(words) ?? [];
    if (!registry.has(name))
      return say(
        `I am a script. Type the name of a tool and its arguments, such as:\n${exampleCall(registry)}\nFor a real model, use --model.`,
      );
    try {
      const input = (json === '' ? {} : JSON.parse(json)) as Json;
      return scriptedModel([{ text: '', calls: [{ id: `call-${at}`, name, input }] }])(request);
    } catch {
      return say(`The arguments of ${name} must be a JSON object. See tooldex show ${name}.`);
    }
  };
}

/** Returns a call to try: of the reading tool that needs the fewest arguments. */
export function exampleCall(registry: ToolMetadataRegistry): string {
  const calls = [...registry]
    .filter(({ accessMode, manual }) => accessMode === 'readonly' && !manual)
    .map(({ name, inputJsonSchema }) => `${name} ${JSON.stringify(sampleOf(inputJsonSchema))}`);
  const size = (call: string) => call.slice(call.indexOf(' ')).length;
  return calls.sort((one, other) => size(one) - size(other))[0] ?? 'my_tool {}';
}
