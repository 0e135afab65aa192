import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { auditMcpServer, type ToolAudit } from '../../../src/audit.js';
import { machine, markdownTable } from '../report.js';
import { packageFolder } from './packages.js';
import {
  isDeclaredReader,
  isRightlyFound,
  isWrongAssurance,
  judgeByName,
  precisionOf,
  recallOf,
  scoreAxis,
  scoreWrites,
  type JudgedTool,
  type Judgement,
  type Score,
} from './score.js';
import { labelledServers, type LabelledServer } from './truth.js';

// Audits published MCP servers and scores the verdicts against labels from people who read the code:
// `npm run bench:audit`. `--only pinecone,memory` selects servers with these words in their names.
// `--misses` lists every mistake. The page in docs is written only if all servers ran.

const PAGE = resolve(import.meta.dirname, '../../../docs/mcp-honesty.md');
const { only, misses, packages } = parseArgs({
  options: { only: { type: 'string' }, misses: { type: 'boolean' }, packages: { type: 'string' } },
}).values;

interface AuditedServer {
  readonly server: LabelledServer;
  readonly tools: readonly JudgedTool[];
  readonly audits: ReadonlyMap<string, ToolAudit>;
  readonly ms: number;
}

function judgementOf({ found, handler, verdict }: ToolAudit): Judgement {
  const writes = found.effects.filter(({ access }) => access !== 'read');
  const sure = writes.filter(({ access }) => access === 'write');
  const kind = sure.some(({ certainty }) => certainty === 'does')
    ? 'does'
    : sure.some(({ argument }) => argument !== undefined)
      ? 'argued'
      : writes.length > 0
        ? 'possible'
        : 'no';
  return {
    writes: kind,
    destructive: found.destructive,
    idempotent: found.idempotent,
    openWorld: found.openWorld,
    isCovered: handler !== undefined,
    verdict,
    evidence: sure.filter(
      ({ argument, certainty }) => certainty === 'does' || argument !== undefined,
    ),
  };
}

async function auditServer(server: LabelledServer): Promise<AuditedServer> {
  const folder = await packageFolder(server, packages);
  const started = performance.now();
  const report = await auditMcpServer(folder, {
    listing: server.tools.map(({ name, declared }) => ({ name, annotations: declared ?? {} })),
  });
  const ms = performance.now() - started;
  const audits = new Map(report.tools.map((tool) => [tool.name, tool]));
  const tools = server.tools.map((label) => ({
    server: server.id,
    label,
    judgement: judgementOf(audits.get(label.name)!),
  }));
  return { server, tools, audits, ms };
}

const figure = (value: number | null) => (value === null ? '–' : value.toFixed(2));
const countsOf = ({ alarms, falseAlarms, hits, positives }: Score) =>
  `${alarms - falseAlarms} of ${alarms} / ${hits} of ${positives}`;

function axisRow(
  title: string,
  tools: readonly JudgedTool[],
  score: (tools: readonly JudgedTool[]) => Score,
): readonly string[] {
  const all = score(tools);
  return [title, figure(precisionOf(all)), figure(recallOf(all)), countsOf(all)];
}

const byName = (tools: readonly JudgedTool[]) =>
  tools.map((tool) => ({ ...tool, judgement: judgeByName(tool.label.name) }));
const withoutPlaywright = (tools: readonly JudgedTool[]) =>
  tools.filter(({ server }) => !server.startsWith('@playwright/'));

/** Figures for users: wrong assurances, unknowns, and how often a lie is found by the right call. */
function answers(tools: readonly JudgedTool[]): string {
  const readers = tools.filter(isDeclaredReader);
  const share = (some: readonly unknown[], all: readonly unknown[]) =>
    `${some.length} of ${all.length} (${((100 * some.length) / Math.max(1, all.length)).toFixed(1)} %)`;
  const liars = readers.filter(
    (tool) => scoreWrites([tool]).hits === 1 && tool.judgement.writes !== 'possible',
  );
  return markdownTable(
    ['verdict', 'tools'],
    [
      [
        "`agrees` for a tool that's declared read-only but writes",
        share(tools.filter(isWrongAssurance), tools),
      ],
      [
        "`unknown` for a tool that's declared read-only",
        share(
          readers.filter(({ judgement }) => judgement.verdict === 'unknown'),
          readers,
        ),
      ],
      ['liars found by the right call', share(liars.filter(isRightlyFound), liars)],
      [
        '`over-cautious` for a tool that writes',
        share(
          tools.filter(
            ({ judgement, label }) =>
              judgement.verdict === 'over-cautious' && label.truth.readOnly === false,
          ),
          tools.filter(({ judgement }) => judgement.verdict === 'over-cautious'),
        ),
      ],
    ],
  );
}

function tables(servers: readonly AuditedServer[]): string {
  const all = servers.flatMap(({ tools }) => tools);
  const readers = all.filter(isDeclaredReader);
  const head = ['tools', 'precision', 'recall', 'correct alarms / writing tools found'];
  const scores = [
    axisRow('declared read-only', readers, scoreWrites),
    axisRow('– without Playwright', withoutPlaywright(readers), scoreWrites),
    axisRow('– by verbs in the name', byName(readers), scoreWrites),
    axisRow('– by verbs, without Playwright', byName(withoutPlaywright(readers)), scoreWrites),
    axisRow('all tools', all, scoreWrites),
    axisRow('– by verbs in the name', byName(all), scoreWrites),
    axisRow('destructive', all, (tools) => scoreAxis(tools, 'destructive')),
    axisRow('not idempotent', all, (tools) => scoreAxis(tools, 'idempotent')),
    axisRow('open world (contested)', all, (tools) => scoreAxis(tools, 'openWorld')),
  ];
  return [
    '## Precision and recall\n',
    markdownTable(head, scores),
    '\n## What users see\n',
    answers(all),
  ].join('\n');
}

function printMisses({ server, tools, audits }: AuditedServer): void {
  for (const { label, judgement } of tools) {
    const isWrite = label.truth.readOnly === false;
    const score = scoreWrites([{ server: server.id, label, judgement }]);
    const audit = audits.get(label.name)!;
    const judged = { server: server.id, label, judgement };
    if (isWrongAssurance(judged)) console.log(`  WRONG ASSURANCE ${server.id} ${label.name}`);
    if (judgement.verdict === 'unknown' && isDeclaredReader(judged))
      console.log(`  unknown ${server.id} ${label.name}: ${audit.unknowns.join('; ')}`);
    if (score.falseAlarms === 0 && score.hits === score.positives) continue;
    const evidence = audit.found.effects
      .filter(({ access }) => access !== 'read')
      .map(
        ({ access, argument, at, call, certainty, via }) =>
          `      ${access} ${certainty}${argument === undefined ? '' : ` (${argument})`} ${call} ${at} ← ${via.join(' ← ')}`,
      );
    console.log(
      `  ${isWrite ? 'missed' : 'false alarm'} ${server.id} ${label.name} (${label.decidable}; declared reader: ${String(label.declared?.['readOnlyHint'])}; handler ${audit.handler ?? 'not found'})\n${evidence.slice(0, 4).join('\n')}`,
    );
  }
}

const known = labelledServers();
if (known === undefined) {
  console.log('Skipped: ../shared/data/mcp-truth is not there.');
} else {
  const words = only?.split(',') ?? [''];
  const audited: AuditedServer[] = [];
  for (const server of known.filter(({ id }) => words.some((word) => id.includes(word)))) {
    const one = await auditServer(server).catch((error: unknown) => {
      // A version that the registry no longer has, or that doesn't install, is reported and skipped.
      if (!(error instanceof Error) || !('status' in error)) throw error;
      console.log(`${server.id}: left out, its package does not install`);
      return undefined;
    });
    if (one === undefined) continue;
    console.log(
      `${server.id}: ${one.tools.length} tools, ${one.tools.filter(({ judgement }) => judgement.isCovered).length} handlers found, ${(one.ms / 1000).toFixed(1)} s`,
    );
    if (misses === true) printMisses(one);
    audited.push(one);
  }
  const text = tables(audited);
  console.log(`\n${text}`);
  if (only === undefined && misses !== true) {
    // Everything before the first table was written by hand and is kept.
    const page = readFileSync(PAGE, 'utf8');
    writeFileSync(
      PAGE,
      `${page.slice(0, page.indexOf('<!-- measured -->'))}<!-- measured -->\n\n${machine()}\n\n${text}\n`,
    );
  }
}
