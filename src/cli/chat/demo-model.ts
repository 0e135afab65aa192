import { scriptedModel, type ModelStep } from '../../chat/model-step.js';
import type { ToolOutput } from '../../chat/thread.js';
import { isPlainObject, type Json } from '../../core/plain-data.js';
import type { ToolExecutor } from '../../execution/tool-executor.js';
import { sampleOf } from '../../json-schema/sample-value.js';
import { requiresApproval } from '../../registry/derived-sets.js';
import { isAvailable } from '../../registry/tool-filter.js';

const SHOWN = 400;

/**
 * Returns a model for a trial without a key: a request that names a tool, such as `git_status {}`, calls that tool for real, and
 * the model's answer is what the tool returned. It keeps no state, so a conversation goes on in any process.
 *
 * @param isTool tells the name of a tool from other words; models see other names where a service would refuse a tool's own.
 * @param example the call to suggest when a request names no tool.
 */
export function demoModel(
  isTool: (name: string) => boolean,
  example: string | undefined,
): ModelStep {
  return (request) => {
    const { messages } = request;
    const [last, at] = [messages.at(-1), messages.findLastIndex(({ role }) => role === 'user')];
    const say = (text: string) => scriptedModel([{ text }])(request);
    if (last?.role === 'tool') return say(`It answered: ${shown(last.content.at(-1)?.output)}`);
    const text = messages[at]?.content;
    const [, name = '', json = ''] =
      /^\s*([\w.-]+)\s*(.*)$/s.exec(typeof text === 'string' ? text : '') ?? [];
    if (!isTool(name) || (json !== '' && !json.startsWith('{')))
      return say(
        `I am a script and understand only the name of a tool with its arguments${example === undefined ? '.' : `:\n${example}`}\nA real model is given with --model.`,
      );
    try {
      const input = json === '' ? {} : (JSON.parse(json) as Json);
      const calls = [{ id: `call-${at}`, name, input }];
      return scriptedModel([{ text: '', calls }])(request);
    } catch {
      return say(
        `Expected the arguments of ${name} as a JSON object. tooldex show ${name} prints their schema.`,
      );
    }
  };
}

/** The most tools that are tried: a catalogue may have thousands. */
const MOST_TRIED = 50;

/** Returns a call that the policy and the input schema of a loaded tool allow, as a user types it: of a reading tool with few parameters, if any. */
export async function exampleCall(executor: ToolExecutor): Promise<string | undefined> {
  const usable = [...executor.registry].filter(isAvailable);
  const callable = usable.map((entry) => ({
    name: entry.name,
    input: sampleOf(entry.inputJsonSchema),
    isAsked: requiresApproval(entry) || entry.manual,
    priority: entry.priority,
  }));
  const parameters = ({ input }: { readonly input: Json }) => Object.keys(input ?? {}).length;
  for (const { name, input } of callable
    .sort(
      (a, b) =>
        Number(a.isAsked) - Number(b.isAsked) ||
        parameters(a) - parameters(b) ||
        a.priority - b.priority,
    )
    .slice(0, MOST_TRIED)) {
    const [dryRun] = await executor.dryRun([{ name, input }]);
    if (
      isPlainObject(input) &&
      dryRun!.refused === undefined &&
      dryRun!.decision.verdict !== 'deny'
    )
      return `${name} ${JSON.stringify(input)}`;
  }
  return undefined;
}

function shown(output: ToolOutput | undefined): string {
  if (output?.type === 'content')
    return (output.value as readonly { readonly text?: string; readonly mediaType?: string }[])
      .map(({ text, mediaType }) => text ?? `[${mediaType ?? 'a link'}]`)
      .join('\n');
  const value =
    output === undefined ? 'nothing' : 'value' in output ? output.value : (output.reason ?? 'no');
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
