// The policy of a job that runs at night with nobody there: it reads everything below its folder, writes only reports, and what
// would need approval is denied, with the reason for the model and the log.
// Run it:  npm i tooldex zod ai && npm i -D tsx && npx tsx unattended-job.ts ./my-project
// It needs nothing. With AI_GATEWAY_API_KEY a real model answers.
import { lintTools, SafetyPolicy, ToolExecutor, ToolMetadataRegistry, type PolicyRule } from 'tooldex';
import { chat, scriptedModel } from 'tooldex/chat';
import { createDefaultTools } from 'tooldex/tools';

const call = (name: string, input: Record<string, string>) => ({ name, input });
const calls = [
  call('search_text', { query: 'TODO', path: 'src' }), call('read_file', { path: 'secrets/token.txt' }),
  call('write_file', { path: 'reports/todo.md', content: '# To do' }), call('write_file', { path: 'reports/../a.md', content: '' }),
  call('run_shell', { command: 'npm test' }), call('run_shell', { command: 'npm test; rm -rf src' }),
];
const model = process.env.AI_GATEWAY_API_KEY ? 'openai/gpt-5-mini' : scriptedModel([{ calls }, 'The report is written.']);

const root = process.argv[2] ?? '.';
const registry = new ToolMetadataRegistry();
registry.registerAll(createDefaultTools({ root }));

// In this order; the first rule that meets a call decides.
const rules: PolicyRule[] = [
  { name: 'tests', verdict: 'allow', tools: 'run_shell', input: { command: 'npm test' } }, // Exactly this command.
  { name: 'secrets', verdict: 'deny', touches: ['read:secrets/', 'write:secrets/'], reason: 'secrets are not for the job' },
  { name: 'reports', verdict: 'allow', touches: 'write:reports/' },
];
const misspelt = lintTools(registry, { rules }).find(({ rule }) => rule === 'unknown-tool');
if (misspelt !== undefined) throw new Error(misspelt.message);

const executor = new ToolExecutor({
  registry,
  policy: new SafetyPolicy({ registry, mode: 'unattended', rules }),
  budgets: [{ per: 'principal', calls: 50, cost: 100, windowMs: 3_600_000 }],
  timeoutMs: 60_000,
});
executor.on((event) => {
  if (event.type === 'decision') console.log(`${event.verdict} ${event.toolName} (${event.rule}): ${event.reason}`);
});

const result = await chat({
  model, executor, principal: 'nightly-report', maxTurns: 20,
  prompt: 'Write reports/todo.md: everything in src that is marked TODO. Then run the tests.',
  signal: AbortSignal.timeout(10 * 60_000),
});
console.log(result.haltedReason === 'completed' ? result.text : `stopped: ${result.haltedReason}`);
process.exitCode = result.haltedReason === 'completed' ? 0 : 1;
await executor.close();
