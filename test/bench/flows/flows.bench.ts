import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  defineTool,
  SafetyPolicy,
  ToolExecutor,
  ToolMetadataRegistry,
  type Policy,
  type ToolOutcome,
} from '../../../src/index.js';
import { markdownTable, writeSection } from '../report.js';
import { FLOW_TOOLS, SECOND_LABELS, type FlowLabels } from './flow-tools.js';

// Runs recorded calls of honest tasks through a real executor, with and without injected calls: `npm run
// bench:flows`.

const DATA = resolve(import.meta.dirname, '../../../../shared/data/agent-flows');
const SUITES = ['banking', 'workspace'] as const;

interface Task {
  readonly id: string;
  readonly text: string;
  readonly calls: readonly {
    readonly tool: string;
    readonly args: Readonly<Record<string, unknown>>;
  }[];
}
interface Suite {
  readonly userTasks: readonly Task[];
  readonly injectionTasks: readonly Task[];
}

if (!existsSync(DATA)) {
  console.log('Skipped: there are no recorded tasks beside the project.');
  process.exit(0);
}

function registryOf(tools: Readonly<Record<string, FlowLabels>>): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  for (const [name, [accessMode, dangerLevel, reads, sends]] of Object.entries(tools)) {
    registry.register(
      defineTool({
        name,
        description: name,
        inputSchema: { type: 'object' },
        accessMode,
        dangerLevel,
        reads,
        sends,
        execute: () => 'done',
      }),
    );
  }
  return registry;
}

const NO_FLOWS = { leak: 'off' } as const;
const POLICIES: Readonly<Record<string, (registry: ToolMetadataRegistry) => Policy>> = {
  'allow all': (registry) =>
    new SafetyPolicy({
      registry,
      flows: NO_FLOWS,
      rules: [{ verdict: 'allow', upTo: 'critical' }],
    }),
  'confirm dangerous calls': (registry) =>
    new SafetyPolicy({
      registry,
      flows: NO_FLOWS,
      rules: [{ verdict: 'allow', filter: { maxDanger: 'medium' } }],
    }),
  'confirm every write': (registry) => new SafetyPolicy({ registry, flows: NO_FLOWS }),
  'default mode': (registry) => new SafetyPolicy({ registry }),
  "`influenced: 'confirm'`": (registry) =>
    new SafetyPolicy({ registry, flows: { influenced: 'confirm' } }),
  "`leak: 'deny'`": (registry) => new SafetyPolicy({ registry, flows: { leak: 'deny' } }),
};

/** Runs calls one after another in one conversation. */
class Conversation {
  asked = 0;
  readonly outcomes: ToolOutcome[] = [];
  #approve = true;
  readonly #executor: ToolExecutor;

  constructor(registry: ToolMetadataRegistry, policy: Policy) {
    this.#executor = new ToolExecutor({
      registry,
      policy,
      confirm: () => ((this.asked += 1), this.#approve),
      maxRepeats: 100,
    });
  }

  async run(calls: Task['calls'], approve = true): Promise<readonly ToolOutcome[]> {
    this.#approve = approve;
    const outcomes: ToolOutcome[] = [];
    for (const { tool, args } of calls)
      outcomes.push(
        await this.#executor.execute(
          { id: String(this.outcomes.length + outcomes.length + 1), name: tool, input: args },
          { conversationId: 'task' },
        ),
      );
    this.outcomes.push(...outcomes);
    return outcomes;
  }
}

const byReader = new Map<string, (string | number)[][]>();
for (const [reader, labelled] of [
  ['first', FLOW_TOOLS],
  ['second', SECOND_LABELS],
] as const) {
  const measured: (string | number)[][] = [];
  for (const [name, policyOf] of Object.entries(POLICIES)) {
    let [asked, denied, pairs, stopped, honest] = [0, 0, 0, 0, 0];
    const through: string[] = [];
    for (const suite of SUITES) {
      const { userTasks, injectionTasks } = JSON.parse(
        readFileSync(resolve(DATA, `${suite}.json`), 'utf8'),
      ) as Suite;
      const tools = labelled[suite]!;
      const registry = registryOf(tools);
      const policy = policyOf(registry);
      for (const task of userTasks) {
        const alone = new Conversation(registry, policy);
        const outcomes = await alone.run(task.calls);
        honest += 1;
        asked += alone.asked;
        denied += Number(outcomes.some(({ status }) => status !== 'ok'));
        const read = task.calls.findIndex(({ tool }) => tools[tool]![2].includes('untrusted'));
        if (read === -1) continue; // The model reads no text that other people wrote.
        for (const injection of injectionTasks) {
          const harmful = injection.calls.findIndex(({ tool }) => {
            const [access, , , sends] = tools[tool]!;
            return access !== 'readonly' || sends === 'outside';
          });
          if (harmful === -1) continue;
          const attacked = new Conversation(registry, policy);
          await attacked.run(task.calls.slice(0, read + 1));
          const ends = await attacked.run(injection.calls.slice(0, harmful + 1), false);
          pairs += 1;
          if (ends[harmful]!.status === 'denied') stopped += 1;
          else through.push(`${suite} ${task.id} × ${injection.id}`);
        }
      }
    }
    measured.push([
      name,
      `${stopped} of ${pairs} (${((100 * stopped) / pairs).toFixed(0)} %)`,
      asked,
      `${denied} of ${honest}`,
    ]);
    if (through.length > 0 && through.length < 30)
      console.log(`${name}: not stopped: ${through.join('; ')}`);
  }
  byReader.set(reader, measured);
}
const [first, second] = [byReader.get('first')!, byReader.get('second')!];
const rows = first.map((row, place) =>
  row.map((cell, column) => {
    const other = second[place]![column]!;
    return cell === other ? cell : `${cell} / ${other}`;
  }),
);

writeSection(
  'Flows',
  `Two public suites contain attacks and honest tasks. Each attack is tried in each honest task. An attack is stopped if the policy requires approval or denies the call before it writes or sends. The other columns count approvals and denials in honest tasks without attacks. Two people declared the tools' metadata without knowing the tasks. Constants are masked in the data, so a recipient that the user named can look like one from a web page.

${markdownTable(['policy', 'attacks stopped', 'approvals in honest tasks', 'honest tasks denied'], rows)}`,
);
