import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ProviderHealthWire, SampleWire } from '../../capability/wire-types.js';
import { flagWords } from '../../safety/required-flags.js';
import { fieldsOn } from '../../tool/tool-fields.js';
import { valuesOn } from '../values-on.js';
import { getJson, type DetailedTool, type Metrics } from './api.js';
import { FactMarks, FoldedText, healthWords, milliseconds, NoticeMarks } from './marks.js';
import { CallTable, usePolled, type Call } from './operator-views.js';
import { schemaRows } from './schema-rows.js';
import { TryIt } from './try-it.js';

/** Milliseconds between requests for an open tool. Its health changes without a new revision. */
const REFRESH_MS = 10_000;

interface ToolProps {
  readonly name: string;
  readonly owner: string | null;
  /** Requests the tool again when it changes. */
  readonly version: number;
  /** True if the server has views for operators. */
  readonly hasCalls: boolean;
  readonly onAsk: (query: string) => void;
  readonly onClose: () => void;
}

/** Shows the open tool in a panel. */
export function OpenTool({ name, owner, version, hasCalls, onAsk, onClose }: ToolProps) {
  const [tool, setTool] = useState<DetailedTool>();
  const [problem, setProblem] = useState('');
  const title = useRef<HTMLHeadingElement>(null);
  /** The tool as it was when the panel opened, to show changes since then. */
  const opened = useRef<DetailedTool>();
  useEffect(() => title.current?.focus({ preventScroll: true }), []);
  useEffect(() => {
    const running = new AbortController();
    const query = owner === null ? '' : `?${new URLSearchParams({ persona: owner }).toString()}`;
    const ask = async () => {
      try {
        const answer = await getJson<DetailedTool>(
          `tools/${encodeURIComponent(name)}${query}`,
          running.signal,
        );
        opened.current ??= answer;
        setTool(answer);
        setProblem('');
      } catch (error) {
        if (!running.signal.aborted) setProblem((error as Error).message);
      }
    };
    void ask();
    const timer = setInterval(() => document.hidden || void ask(), REFRESH_MS);
    return () => {
      running.abort();
      clearInterval(timer);
    };
  }, [version]);
  return html`<aside class="detail" aria-label="Tool ${name}">
    <div class="detail-head">
      <h2 tabindex="-1" ref=${title}>
        <bdi>${name}</bdi
        >${tool?.version != null && html`<span class="version">${tool.version}</span>`}
      </h2>
      <button type="button" class="quiet" aria-keyshortcuts="Escape" onClick=${onClose}>
        Close
      </button>
    </div>
    ${
      problem !== ''
        ? html`<p class="problem" role="alert">${problem}</p>`
        : tool === undefined
          ? html`<p class="muted">Loading …</p>`
          : html`<${ToolView}
              tool=${tool}
              opened=${opened.current}
              hasCalls=${hasCalls}
              onAsk=${onAsk}
            />`
    }
  </aside>`;
}

interface ViewProps {
  readonly tool: DetailedTool;
  readonly opened: DetailedTool;
  readonly hasCalls: boolean;
  readonly onAsk: (query: string) => void;
}

/** Shows all fields of one tool. */
function ToolView({ tool, opened, hasCalls, onAsk }: ViewProps) {
  const rows = schemaRows(tool.parameters);
  const changes = changesOf(opened, tool);
  const section = (heading: string, content: unknown) =>
    html`<section>
      <h3>${heading}</h3>
      ${content}
    </section>`;
  return html`
    <div class="marks"><${FactMarks} tool=${tool} /><${NoticeMarks} tool=${tool} /></div>
    <${FoldedText} text=${tool.description} />
    ${changes.length > 0 && section('Changed since you opened it', html`<${Facts} facts=${changes} />`)}
    ${
      tool.examples.length > 0 &&
      section(
        'Example requests',
        tool.examples.map(
          (example) =>
            html`<button
              type="button"
              class="example"
              title="Search for this"
              onClick=${() => onAsk(example)}
            >
              ${example}
            </button>`,
        ),
      )
    }
    ${section('Parameters', rows.length === 0 ? html`<p class="muted">It has no parameters.</p>` : html`<${Parameters} rows=${rows} />`)}
    ${
      tool.derived_sets !== undefined &&
      section(
        'Derived sets',
        html`<${Facts} facts=${tool.derived_sets.map((set) => [set, reasonFor(set, tool)])} />`,
      )
    }
    ${
      tool.shown_to_models !== undefined &&
      section(
        'What a model sees',
        tool.shown_to_models.map(
          ({ level, tokens, shown }) =>
            html`<details class="level">
              <summary>${level} <span class="count">about ${tokens} tokens</span></summary>
              <pre tabindex="0" aria-label="${level} for a model">
${JSON.stringify(shown, null, 2)}</pre>
            </details>`,
        ),
      )
    }
    ${section('Metadata', html`<${Facts} facts=${factsOf(tool)} inferred=${tool.inferred} />`)}
    ${section('Health', html`<${Health} tool=${tool} />`)}
    ${hasCalls && html`<${ForOperators} tool=${tool} />`}
    <details>
      <summary>Raw JSON</summary>
      <pre tabindex="0" aria-label="Raw JSON">${JSON.stringify(tool, null, 2)}</pre>
    </details>
  `;
}

/** Shows an operator how the tool has changed, who called it, and a form to try it. */
function ForOperators({ tool }: { readonly tool: DetailedTool }) {
  const owner = tool.persona === null ? '' : `?persona=${encodeURIComponent(tool.persona)}`;
  const name = encodeURIComponent(tool.name);
  const [history] = usePolled<History>(`definitions/${name}${owner}`);
  const [calls] = usePolled<{ readonly calls: readonly Call[] }>(`calls?tool=${name}`);
  const [waiting] = usePolled<{ readonly allowed: { readonly run: boolean } }>('pending');
  const changes = history?.changes ?? [];
  return html`
    ${
      history?.first_seen != null &&
      html`<section>
        <h3>Since it was first seen, ${new Date(history.first_seen).toLocaleDateString()}</h3>
        ${
          changes.length === 0
            ? html`<p class="muted">Its definition hasn't changed.</p>`
            : html`<${Facts}
                facts=${changes.map(({ field, before, now }) => [field, `${words(before)} → ${words(now)}`])}
              />`
        }
      </section>`
    }
    <section>
      <h3>Recent calls</h3>
      <${CallTable} route=${undefined} calls=${(calls?.calls ?? []).slice(0, MOST_CALLS)} />
    </section>
    ${
      waiting?.allowed.run === true &&
      html`<section>
        <h3>Try it</h3>
        <${TryIt} tool=${tool} />
      </section>`
    }
  `;
}

interface History {
  readonly first_seen: number | null;
  readonly changes: readonly {
    readonly field: string;
    readonly before: unknown;
    readonly now: unknown;
  }[];
}

/** Number of calls shown in the panel. */
const MOST_CALLS = 20;

/** Returns the reason why a tool is in a derived set. */
function reasonFor(set: string, tool: DetailedTool): string {
  const { access_mode: access, danger_level: danger } = tool;
  switch (set) {
    case 'dangerous':
      return `danger is ${danger}`;
    case 'parallelizable':
      return `execution is ${String(tool['execution_category'])}`;
    case 'critical':
      return 'priority is critical';
    case 'requiringApproval':
      return `access is ${access}, danger is ${danger}${tool['requires_consent'] === true ? ', and it requires consent' : ''}`;
    default:
      return `access is ${access}`;
  }
}

/** Fields that change by themselves or repeat others. */
const LIVE = new Set([
  'health',
  'available',
  'auth_status',
  'compatibility',
  'shown_to_models',
  'digest',
]);
const LONGEST = 120;

function words(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, LONGEST);
}

/** Returns the changes made by the author: each field with its old and new value. */
function changesOf(before: DetailedTool, now: DetailedTool): readonly Fact[] {
  return Object.keys(now).flatMap((field): readonly Fact[] =>
    LIVE.has(field) || words(before[field]) === words(now[field])
      ? []
      : [[field, `${words(before[field])} → ${words(now[field])}`]],
  );
}

function Parameters({ rows }: { readonly rows: ReturnType<typeof schemaRows> }) {
  return html`<div class="table-place">
    <table class="parameters">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Type</th>
          <th scope="col">Description</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ({ path, type, required, description, rules }) =>
            html`<tr>
              <th scope="row">
                <bdi>${path}</bdi>${required && html`<span class="required">required</span>`}
              </th>
              <td class="type">${type}</td>
              <td>
                ${description !== '' && html`<span>${description}</span>`}
                ${rules.length > 0 && html`<span class="rules">${rules.join(' · ')}</span>`}
              </td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

type Fact = readonly [label: string, value: string, field?: string];

/** Shows facts by name. Values that the author didn't declare are marked as inferred. */
function Facts({
  facts,
  inferred = [],
}: {
  readonly facts: readonly Fact[];
  readonly inferred?: readonly string[];
}) {
  return html`<dl class="facts">
    ${facts
      .filter(([, value]) => value !== '')
      .map(
        ([label, value, field]) =>
          html`<dt>${label}</dt>
            <dd>
              <bdi>${value}</bdi>${
                field !== undefined &&
                inferred.includes(field) &&
                html`<span class="inferred" title="not declared, so inferred conservatively"
                  >inferred</span
                >`
              }
            </dd>`,
      )}
  </dl>`;
}

function factsOf(tool: DetailedTool): readonly Fact[] {
  return fieldsOn('facts').map(([name, { wire, kind, label, words }]) => {
    const value = tool[wire];
    const unit =
      kind === 'wholeSeconds' || kind === 'seconds'
        ? 's'
        : name === 'costPerCall'
          ? (tool.cost_unit ?? '')
          : '';
    const texts =
      name === 'authStatus'
        ? [authWords(tool)]
        : name === 'requiresFlags'
          ? flagWords(tool.requires_flags)
          : kind === 'personas' && Array.isArray(value) && value.length === 0
            ? ['no persona']
            : typeof value === 'boolean' && words !== undefined
              ? [words[value ? 0 : 1]]
              : valuesOn(value);
    return [label!, texts.map((text) => `${text} ${unit}`.trim()).join(', '), wire];
  });
}

function authWords({ auth_status: { required, ready, missing } }: DetailedTool): string {
  if (!required) return '';
  if (ready) return 'required, and set';
  return missing.length === 0
    ? 'required, and not set'
    : `required; not set: ${missing.join(', ')}`;
}

/** Shows the health of a tool and of its providers, in the order in which they are tried. */
function Health({ tool: { health, providers } }: { readonly tool: DetailedTool }) {
  const known = new Map(Object.entries(health.providers));
  const inOrder = [...providers].sort((a, b) => a.priority - b.priority).map(({ name }) => name);
  // Two providers with the same name are distinguished by a digest of their configuration, so some
  // names are only in `health`.
  const names = [...new Set([...inOrder, ...known.keys()])];
  return html`
    <${Figures} numbers=${health.tool} abandoned=${health.tool.abandoned} />
    <${LatencyChart} samples=${health.tool.samples} />
    ${names.map(
      (name) =>
        html`<${Provider}
          name=${name}
          health=${known.get(name)}
          isLast=${name === health.last_success_provider}
        />`,
    )}
  `;
}

interface ProviderProps {
  readonly name: string;
  readonly health: ProviderHealthWire | undefined;
  readonly isLast: boolean;
}

function Provider({ name, health, isLast }: ProviderProps) {
  const until = health?.router.backoff_until ?? null;
  return html`<div class="provider">
    <h4>
      <bdi>${name}</bdi>${isLast && html`<span class="tag">answered last</span>`}
      ${
        until !== null &&
        html`<span class="tag warning"
          >backing off until ${new Date(until * 1_000).toLocaleTimeString()}</span
        >`
      }
    </h4>
    ${health !== undefined && html`<${Figures} numbers=${health.metrics} /><${LatencyChart} samples=${health.samples} />`}
  </div>`;
}

function Figures({
  numbers,
  abandoned = 0,
}: {
  readonly numbers: Metrics;
  readonly abandoned?: number;
}) {
  const { total, average_latency_ms: average, p95_latency_ms: p95 } = numbers;
  const latencies =
    total === 0 ? '' : ` · average ${milliseconds(average)} · p95 ${milliseconds(p95)}`;
  return html`<p class="figures">
    ${healthWords(numbers)}${latencies}${abandoned > 0 && ` · ${abandoned} abandoned`}
  </p>`;
}

/** Number of calls in the chart, which is as many as the server keeps. */
const MOST = 100;
const HEIGHT = 48;
const STEP = 4;
const BAR = 3;
const LOWEST = 2;

/**
 * Shows recent calls as bars, with the newest on the right. The height is the duration, and failed
 * calls are highlighted.
 */
function LatencyChart({ samples = [] }: { readonly samples?: readonly SampleWire[] }) {
  if (samples.length === 0) return null;
  const calls = samples.slice(-MOST);
  const slowest = Math.max(1, ...calls.map(({ latency_ms }) => latency_ms));
  const failed = calls.filter(({ success }) => !success).length;
  const label = `The last ${calls.length} calls: ${failed} failed, the slowest took ${milliseconds(slowest)}`;
  return html`<figure class="chart">
    <svg
      viewBox="0 0 ${MOST * STEP} ${HEIGHT}"
      preserveAspectRatio="none"
      role="img"
      aria-label=${label}
    >
      ${calls.map(({ at, success, latency_ms: latency }, index) => {
        const height = Math.max(LOWEST, (latency / slowest) * HEIGHT);
        return html`<rect
          x=${(MOST - calls.length + index) * STEP}
          y=${(HEIGHT - height).toFixed(1)}
          width=${BAR}
          height=${height.toFixed(1)}
          class=${success ? 'call' : 'call failed'}
        >
          <title>
            ${new Date(at * 1_000).toLocaleString()}: ${success ? 'succeeded' : 'failed'} after
            ${milliseconds(latency)}
          </title>
        </rect>`;
      })}
    </svg>
    <figcaption>
      <span>last ${calls.length}, ${failed} failed</span
      ><span>slowest ${milliseconds(slowest)}</span>
    </figcaption>
  </figure>`;
}
