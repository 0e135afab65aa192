import { scriptedModel, type ModelStep } from '../../chat/model-step.js';
import type { Json } from '../../core/plain-data.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';

/** Ways to use a real model, for the help text. */
export const MODELS = `
Models:
  model.mjs: import { openai } from '@ai-sdk/openai'; export default openai('gpt-5-mini');
  OpenAI     npm install ai @ai-sdk/openai     OPENAI_API_KEY
  Anthropic  npm install ai @ai-sdk/anthropic  ANTHROPIC_API_KEY
  Google     npm install ai @ai-sdk/google     GOOGLE_GENERATIVE_AI_API_KEY
  any        npm install ai                    AI_GATEWAY_API_KEY, --model openai/gpt-5-mini`;
/** Returns the note that explains the demo, with an example request. */
export const demoNote = (tool: string) =>
  `Demo: a script stands in for the model, but its calls are real. Try ${tool} {}.
To use a model, pass --model; tooldex chat --help explains how.`;

/** The maximum length of a result that the script repeats. */
const MAX_SHOWN = 400;
/** Matches a request with a tool name and arguments, such as `read_file {"path": "a.txt"}`. */
const CALL = /^\s*([\w.-]+)\s*(\{.*\})?\s*$/s;

/**
 * Returns a scripted model, so that a chat works without an API key. The model makes the call in
 * the request and replies with the result.
 */
export function demoModel(tools: ToolMetadataRegistry, example: string): ModelStep {
  return (request) => {
    const { messages } = request;
    const say = (text: string) => scriptedModel([{ text }])(request);
    const last = messages.at(-1);
    if (last?.role === 'tool') {
      const output = JSON.stringify(last.content.at(-1)?.output, withoutBytes) ?? '';
      return say(`The tool returned: ${output.slice(0, MAX_SHOWN)}`);
    }
    const at = messages.findLastIndex(({ role }) => role === 'user');
    const [, name = '', json = '{}'] = CALL.exec(messages[at]?.content as string) ?? [];
    try {
      if (!tools.has(name)) throw new SyntaxError('no tool');
      const input = JSON.parse(json) as Json;
      return scriptedModel([{ text: '', calls: [{ id: `call-${at}`, name, input }] }])(request);
    } catch {
      return say(
        `I am a script. I only understand a tool name and its arguments, such as:\n${example} {}\nTo see the tools, run tooldex list. To talk to a real model, use --model.`,
      );
    }
  };
}

function withoutBytes(_: string, value: unknown): unknown {
  return value instanceof Uint8Array ? `[${value.length} bytes]` : value;
}
