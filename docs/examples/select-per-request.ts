// An agent of the AI SDK that gets the right few of many tools for each request, found by words, hints and embeddings. You want it
// as soon as all tools together cost more prompt than the answer, or the model starts to confuse them.
// Run it:  npm i tooldex zod ai && npm i -D tsx && npx tsx select-per-request.ts
// Without a key, scripted.ts and a table of two meanings answer. With AI_GATEWAY_API_KEY, real models do.
import { embedMany, generateText, stepCountIs, type EmbeddingModel, type ModelMessage } from 'ai';
import { MockEmbeddingModelV3 } from 'ai/test';
import { selectTools, textDigest, ToolExecutor, ToolMetadataRegistry } from 'tooldex';
import { openToolNames, toAISDKTools } from 'tooldex/interop';
import { createDefaultTools, defaultToolHints } from 'tooldex/tools';
import { scripted } from './scripted.js';

const hasKey = Boolean(process.env.AI_GATEWAY_API_KEY);
const model = hasKey ? 'openai/gpt-5-mini' : scripted({ tool: 'disk_usage', input: {} }, 'The disk has room left.');
/** Two meanings: disks and notes. The last number keeps every vector longer than nothing. */
const meaningOf = (text: string) => [/disk|full|saving/i.test(text) ? 1 : 0, /note|remember/i.test(text) ? 1 : 0, 0.1];
const embeddings: EmbeddingModel = hasKey
  ? 'openai/text-embedding-3-small'
  : new MockEmbeddingModelV3({
      maxEmbeddingsPerCall: 100,
      doEmbed: ({ values }) => Promise.resolve({ embeddings: values.map(meaningOf), warnings: [] }),
    });
const embed = async (values: string[]) => (await embedMany({ model: embeddings, values })).embeddings;

// Once for each catalogue: keep the vectors in a file, and embed only tools whose textDigest has changed.
const described = new ToolMetadataRegistry({ hints: defaultToolHints });
described.registerAll(createDefaultTools());
const entries = [...described];
const texts = entries.map(({ name, description }) => [name, description, ...(defaultToolHints[name]?.requests ?? [])].join('\n'));
const embedded = await embed(texts);
const vectors = Object.fromEntries(entries.map((entry, at) => [entry.name, { of: textDigest(entry), vector: embedded[at]! }]));

const registry = new ToolMetadataRegistry({ hints: defaultToolHints, vectors });
registry.registerAll(createDefaultTools());
const executor = new ToolExecutor({ registry });

// For each request. Calls that still wait for an approval keep their tools, whatever the new request is about.
async function reply(messages: ModelMessage[], text: string): Promise<string> {
  messages.push({ role: 'user', content: text });
  const [vector] = await embed([text]);
  const include = openToolNames(messages, registry);
  const selection = selectTools(registry, { text, vector: vector!, include, maxTools: 6, tokenBudget: 1200 });
  for (const { toolName, explanation } of selection.tools) console.log(`${toolName}: ${explanation}`);
  const tools = toAISDKTools(selection, { executor });
  const { text: answer, response } = await generateText({ model, tools, messages, stopWhen: stepCountIs(5) });
  messages.push(...response.messages); // AI SDK 7: responseMessages
  return answer;
}

console.log(`${registry.size} tools`);
console.log(await reply([], 'Is that why saving fails?'));
await executor.close();
