import {
  scriptedModel,
  type ModelRequest,
  type ModelStep,
  type ScriptedCall,
} from '../../chat/model-step.js';
import { callsIn, type ChatMessage, type ToolOutput } from '../../chat/thread.js';
import { isPlainObject, type Json } from '../../core/plain-data.js';
import { sampleOf } from '../../json-schema/sample-value.js';
import type { ToolExecutor } from '../../execution/tool-executor.js';
import { requiresApproval } from '../../registry/derived-sets.js';
import { isAvailable } from '../../registry/tool-filter.js';
import { defineTool, type ToolDefinition } from '../../tool/tool-definition.js';

/** A tool that nobody's code answers: the user at the terminal does. */
export const CHOOSE_NAME: ToolDefinition = defineTool({
  name: 'choose_name',
  description: 'Asks the user for the name of a new file',
  inputSchema: { type: 'object', properties: { what: { type: 'string' } } },
  manual: true,
  accessMode: 'readonly',
});

const SHOWN = 400;

interface Answer {
  readonly text: string;
  readonly calls?: readonly ScriptedCall[];
}

/**
 * Returns a model for a trial without a key. It says what a script has it say, and its calls are really made.
 *
 * With the bundled tools it lists the folder, lets the user name a file, and asks to write it. A request that names a tool,
 * such as `git_status {}`, calls that tool. It knows how far it is from the thread alone, so it goes on in any process.
 *
 * @param isTool tells the name of a tool from other words; models see other names where a service would refuse a tool's own.
 * @param example a call that it names to those who ask for something else.
 */
export function demoModel(
  isTool: (name: string) => boolean,
  example: string | undefined,
): ModelStep {
  return (request) => {
    const calls = request.messages.flatMap((message) =>
      message.role === 'assistant' ? callsIn(message) : [],
    ).length;
    const { text, calls: asked = [] } = answerTo(request, isTool, example);
    return scriptedModel([
      { text, calls: asked.map((call, index) => ({ id: `call-${calls + index + 1}`, ...call })) },
    ])(request);
  };
}

/** The most tools that are tried: a catalogue may have thousands. */
const MOST_TRIED = 50;

/** Returns a call that the policy and the input schema of a loaded tool allow, as a user types it: of a reading tool with few parameters, if any. */
export async function exampleCall(executor: ToolExecutor): Promise<string | undefined> {
  const usable = [...executor.registry].filter(
    (entry) => entry.name !== CHOOSE_NAME.name && isAvailable(entry),
  );
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

function answerTo(
  { messages, tools }: ModelRequest,
  isTool: (name: string) => boolean,
  example: string | undefined,
): Answer {
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const since = messages.slice(at + 1);
  const step = since.filter(({ role }) => role === 'assistant').length;
  const offered = new Set(tools.map(({ name }) => name));
  const request = messages[at]?.content;
  const named = callIn(typeof request === 'string' ? request : '', isTool);
  if (named !== undefined)
    return step === 0 ? named : { text: `It answered: ${shown(lastOutput(since))}` };
  if (!['list_directory', 'write_file', CHOOSE_NAME.name].every((name) => offered.has(name))) {
    return {
      text: `I am a script and understand only the name of a tool with its arguments${example === undefined ? '.' : `:\n${example}`}\nA real model is given with --model.`,
    };
  }
  return [lookAround, writeDown, sayHow][Math.min(step, 2)]!(since);
}

function lookAround(): Answer {
  return {
    text: 'I look at what is here. Meanwhile, please choose a name for my notes.',
    calls: [
      { name: 'list_directory', input: {} },
      { name: CHOOSE_NAME.name, input: { what: 'notes about this folder' } },
    ],
  };
}

function writeDown(since: readonly ChatMessage[]): Answer {
  const path = lastOutput(since, CHOOSE_NAME.name);
  if (path?.type !== 'text') return { text: 'Without a name there are no notes.' };
  const listing = lastOutput(since, 'list_directory');
  const entries =
    listing?.type === 'json' &&
    isPlainObject(listing.value) &&
    Array.isArray(listing.value['entries'])
      ? (listing.value['entries'] as readonly Json[])
      : [];
  const names = entries.flatMap((entry) =>
    isPlainObject(entry) && typeof entry['name'] === 'string' && !entry['name'].startsWith('.')
      ? [entry['name']]
      : [],
  );
  const content = [
    '# Notes',
    '',
    `${names.length} entries:`,
    ...names.slice(0, 10).map((name) => `- ${name}`),
    ...(names.length > 10 ? ['- …'] : []),
    '',
  ].join('\n');
  return {
    text: `There are ${names.length} entries. I write that down, if you let me.`,
    calls: [{ name: 'write_file', input: { path: path.value.trim(), content } }],
  };
}

function sayHow(since: readonly ChatMessage[]): Answer {
  const output = lastOutput(since, 'write_file');
  if (output?.type === 'execution-denied') return { text: 'Then I leave it.' };
  if (output?.type === 'error-text') return { text: `That did not work: ${shown(output)}` };
  return { text: 'The notes are written.' };
}

/** The call that a request spells out; nothing for other requests. */
function callIn(text: string, isTool: (name: string) => boolean): Answer | undefined {
  const [, name = '', json = ''] = /^\s*([\w.-]+)\s*(.*)$/s.exec(text) ?? [];
  if (!isTool(name) || (json !== '' && !json.startsWith('{'))) return undefined;
  try {
    return { text: '', calls: [{ name, input: json === '' ? {} : (JSON.parse(json) as Json) }] };
  } catch {
    return {
      text: `Expected the arguments of ${name} as a JSON object. tooldex show ${name} prints their schema.`,
    };
  }
}

function lastOutput(messages: readonly ChatMessage[], toolName?: string): ToolOutput | undefined {
  return messages
    .flatMap((message) => (message.role === 'tool' ? message.content : []))
    .findLast((part) => toolName === undefined || part.toolName === toolName)?.output;
}

function shownPart(part: Json): string {
  const { text, mediaType } = isPlainObject(part) ? part : {};
  return typeof text === 'string'
    ? text
    : `[${typeof mediaType === 'string' ? mediaType : 'a link'}]`;
}

function shown(output: ToolOutput | undefined): string {
  if (output?.type === 'content') return output.value.map(shownPart).join('\n');
  const value =
    output === undefined ? 'nothing' : 'value' in output ? output.value : (output.reason ?? 'no');
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
