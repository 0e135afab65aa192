import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import type { RecordedCall } from '../../execution/call-log.js';
import type { Overview, Wire } from '../operator-room.js';
import { useJson } from './api.js';
import { Bars, Facts, fold, milliseconds, number, pre, Table, time, type Fact } from './parts.js';
import { currentRoute, hrefOf, hrefWith } from './route.js';

export const loading = (problem: string | undefined) =>
  html`<p class="empty" role="status">${problem ?? 'Loading …'}</p>`;
const toolLink = (name: string) => html`<a href=${hrefOf('tools', name)}>${name}</a>`;

/** Shows waiting calls, failures, slow tools and today's changes. */
export function OverviewView() {
  const { answer, error } = useJson<Overview>('overview');
  if (answer === undefined) return loading(error?.message);
  const { waiting, last_hour: slots, failing, slowest, principals, findings } = answer;
  const { changed_today: changed } = answer;
  const total = (field: 'calls' | 'errors') => slots.reduce((sum, slot) => sum + slot[field], 0);
  const ends = [slots[0]!.at, slots.at(-1)!.at].map(time);
  const slowestMs = Math.max(0, ...slots.map(({ p95_ms: value }) => value ?? 0));
  const block = (title: string, empty: string, facts: readonly Fact[]) =>
    html`<section class="card">
      <h2>${title}</h2>
      ${facts.length === 0 ? html`<p class="muted">${empty}</p>` : html`<${Facts} facts=${facts} />`}
    </section>`;
  return html`
    <section class="card">
      <h2>
        <a href=${hrefOf('waiting')}
          >${waiting === 0 ? 'Nothing is waiting for you' : `${number(waiting)} waiting for you`}</a
        >
      </h2>
      <${Bars}
        label=${`Calls in the last hour: ${number(total('calls'))}, failed: ${number(total('errors'))}`}
        places=${slots.length}
        ends=${ends}
        bars=${slots.map(({ calls, errors }) => [
          { value: calls, failed: false },
          { value: errors, failed: true },
        ])}
      />
      <${Bars}
        label=${`95 % of calls in the slowest minute took at most ${milliseconds(slowestMs)}`}
        places=${slots.length}
        ends=${ends}
        bars=${slots.map(({ p95_ms: value }) => [{ value: value ?? 0, failed: false }])}
      />
      <p class="count">
        Processes report their calls once a minute. A process that was killed loses at most its last
        minute.
      </p>
    </section>
    ${block(
      'Findings',
      'Nothing to fix.',
      Object.entries(findings).map(([severity, count]) => [
        html`<a href=${hrefOf('findings')}>${severity}</a>`,
        number(count),
      ]),
    )}
    ${block(
      'Failing',
      'No call failed in the last hour.',
      failing.map(({ name, errors, calls }) => [toolLink(name), `${errors} of ${calls} failed`]),
    )}
    ${block(
      'Slowest',
      'No calls in the last hour.',
      slowest.map(({ name, mean_ms }) => [toolLink(name), `${milliseconds(mean_ms)} on average`]),
    )}
    ${block(
      'Principals',
      'No calls in the last hour.',
      principals.map(({ name, calls, denied, failed, cost }) => [
        html`<bdi>${name ?? 'unnamed callers'}</bdi>`,
        `${number(calls)} calls, ${number(denied)} denied, ${number(failed)} failed, cost ${number(cost)}`,
      ]),
    )}
    ${block(
      'Changed today',
      'No definition has changed since this server started.',
      changed.map(({ name, change, at }) => [toolLink(name), `${change} at ${time(at)}`]),
    )}
  `;
}

const STATUSES: readonly RecordedCall['status'][] = [
  'ok',
  'error',
  'denied',
  'approval_required',
  'ask_user',
  'manual',
  'halt',
];

/** Lists recent calls from all executors that share the store, with filters. */
export function CallsView() {
  const { parameters } = currentRoute();
  const [isFollowing, setFollowing] = useState(true);
  const { answer, error } = useJson<{
    readonly total: number;
    readonly calls: readonly Wire<RecordedCall>[];
  }>(`calls?${parameters.toString()}`, '', !isFollowing);
  const filter = (name: string) => ({
    value: parameters.get(name) ?? '',
    onInput: ({ target }: Event) =>
      location.replace(hrefWith({ [name]: (target as HTMLInputElement).value || null })),
  });
  return html`
    <form class="call-filters" onSubmit=${(event: Event) => event.preventDefault()}>
      <label>Tool <input type="search" ...${filter('tool')} /></label>
      <label>For <input type="search" ...${filter('principal')} /></label>
      <label>
        Status
        <select ...${filter('status')}>
          <option value="">all</option>
          ${STATUSES.map((each) => html`<option>${each}</option>`)}
        </select>
      </label>
      <label>
        <input
          type="checkbox"
          checked=${isFollowing}
          onChange=${() => setFollowing(!isFollowing)}
        />
        follow
      </label>
      <span class="count" role="status"
        >${error?.message ?? `${number(answer?.total ?? 0)} of the last 1,000 calls`}</span
      >
    </form>
    ${callTable(answer?.calls ?? [])}
  `;
}

/** Shows calls as a table. */
export function callTable(calls: readonly Wire<RecordedCall>[]) {
  if (calls.length === 0) return html`<p class="muted">No calls.</p>`;
  return html`<${Table}
    kind="calls"
    label="Calls"
    heads=${['Time', 'Tool', 'Outcome', 'Decision', 'For', 'Took']}
    rows=${calls.map((call) => [
      time(call.at),
      toolLink(call.tool_name),
      html`<span class=${call.status === 'error' ? 'problem' : ''}
          >${call.code ?? call.status}</span
        >
        ${call.message && html`<p class="message">${call.message}</p>`}
        ${call.input !== undefined && fold('arguments', pre('Arguments', call.input))}`,
      html`${call.verdict ?? '–'} <span class="count">${call.rule}</span>`,
      html`<bdi>${call.principal ?? '–'}</bdi> <bdi class="count">${call.conversation_id}</bdi>`,
      html`${milliseconds(call.duration_ms)}${call.attempts > 1 && ` in ${call.attempts} attempts`}
        <bdi class="count">${call.provider}</bdi>`,
    ])}
  />`;
}
