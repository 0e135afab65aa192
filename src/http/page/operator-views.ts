import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import type { RecordedCall } from '../../execution/call-log.js';
import type { OperatorAction } from '../../safety/calls.js';
import type { Grant } from '../../safety/grants.js';
import type { Overview, Wire } from '../operator-routes.js';
import { ask, ROWS, useJson, type Answered } from './api.js';
import {
  Bars,
  Facts,
  fold,
  milliseconds,
  number,
  pre,
  time,
  useAction,
  waitingCount,
  type Fact,
} from './parts.js';
import { currentRoute, hrefOf, hrefWith } from './route.js';

/** Costs can be fractions of a cent, and sums of fractions have rounding errors. */
const COST = { maximumSignificantDigits: 6 };

export const loading = (problem: string | undefined) =>
  html`<p class="empty" role="status">${problem ?? 'Loading …'}</p>`;
const toolLink = (name: string) => html`<a href=${hrefOf('tools', name)}>${name}</a>`;

/** Shows waiting calls, failures, slow tools and today's changes. */
export function OverviewView({ answer, error }: Answered<Overview>) {
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
          >${waiting === 0 ? 'Nothing is waiting for you' : `${waitingCount(waiting)} waiting for you`}</a
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
        `${number(calls)} calls, ${number(denied)} denied, ${number(failed)} failed, ${cost.toLocaleString('en', COST)} counted against cost budgets`,
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

/** The filters of calls that match parts of names. */
const PARTS = { tool: 'Tool', principal: 'For', conversation: 'Conversation' };

/** Returns the filters in the URL that the server also has. */
export const partsIn = (parameters: URLSearchParams, ...others: readonly string[]) =>
  new URLSearchParams([...parameters].filter(([name]) => name in PARTS || others.includes(name)));

/** Keeps a form of filters from being sent, because they apply while the user types. */
export const stay = (event: Event) => event.preventDefault();

const filter = (name: string) => ({
  value: currentRoute().parameters.get(name) ?? '',
  onInput: ({ target }: Event) =>
    location.replace(hrefWith({ [name]: (target as HTMLInputElement).value || null })),
});

/** Shows fields that filter calls by parts of names. */
export const partFilters = () =>
  Object.entries(PARTS).map(
    ([name, label]) => html`<label>${label} <input type="search" ...${filter(name)} /></label>`,
  );

type CallWire = Wire<RecordedCall>;
type ActionWire = Wire<OperatorAction>;

/** Shows recent calls with filters, or the timeline of the conversation in the URL. */
export function CallsView() {
  const open = currentRoute().parameters.get('open');
  return open === null
    ? html`<${RecentCalls} />`
    : html`<${Timeline} key=${open} conversation=${open} />`;
}

/** Lists recent calls from all executors that share the store. */
function RecentCalls() {
  const { parameters } = currentRoute();
  const [isFollowing, setFollowing] = useState(true);
  const { answer, error } = useJson<{
    readonly total: number;
    readonly calls: readonly CallWire[];
  }>(`calls?${partsIn(parameters, 'status').toString()}`, '', !isFollowing);
  return html`
    <form class="call-filters" onSubmit=${stay}>
      ${partFilters()}
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
    ${callList(answer?.calls ?? [])}
  `;
}

/** Shows what happened in a conversation, in order. */
function Timeline({ conversation }: { readonly conversation: string }) {
  const { answer, error } = useJson<{ readonly timeline: readonly (CallWire | ActionWire)[] }>(
    `timeline?conversation=${encodeURIComponent(conversation)}`,
  );
  return html`
    <h2>Conversation <bdi>${conversation}</bdi></h2>
    <p class="count">
      The newest 200 calls and answers of the last 24 hours, oldest first. ${' '}<a
        href=${hrefWith({ open: null })}
        >All calls</a
      >
    </p>
    ${answer === undefined ? loading(error?.message) : callList(answer.timeline)}
  `;
}

/** Links to a conversation's timeline. */
export const timelineLink = (conversation: string | undefined) =>
  conversation !== undefined && html`<a href=${hrefOf('calls', conversation)}>${conversation}</a>`;

/** Lists calls and answers, one in a line. */
export function callList(items: readonly (CallWire | ActionWire)[]) {
  if (items.length === 0) return html`<p class="muted">No calls.</p>`;
  return html`<ol class="calls" aria-label="Calls">
    ${items.slice(0, ROWS).map((item) => ('action' in item ? actionRow(item) : callRow(item)))}
    ${items.length > ROWS && html`<li class="muted">The first ${ROWS} are shown. Filter them to see others.</li>`}
  </ol>`;
}

/** Shows a call with its error in a line, and its details on demand. */
function callRow(call: CallWire) {
  const { tool_name: tool, call_id: id, conversation_id: conversation, pending_id: waits } = call;
  const facts: readonly Fact[] = [
    ['tool', toolLink(tool)],
    ['call', id],
    ['for', call.principal],
    ['conversation', timelineLink(conversation)],
    ['decision', [call.verdict, call.rule]],
    ['took', [milliseconds(call.duration_ms), call.attempts > 1 && `${call.attempts} attempts`]],
    ['provider', call.provider],
    ['now has read', call.labels],
    ['asked', call.question],
    ['waits', waits && html`<a href=${hrefOf('waiting', waits)}>Answer it</a>`],
    ['error', call.message],
  ];
  return html`<li key=${`${id} ${call.at}`}>
    ${fold(
      html`<span class="count">${time(call.at)}</span>
        <bdi>${tool}</bdi>
        <span class=${call.status === 'error' ? 'problem' : ''}>${call.code ?? call.status}</span>
        ${call.labels?.map((label) => html`<span class="tag">read ${label}</span>`)}
        <bdi class="message">${call.message ?? call.question}</bdi>`,
      html`<${Facts} facts=${facts} /> ${call.input !== undefined && pre('Arguments', call.input)}`,
    )}
  </li>`;
}

function actionRow({ at, action, operator, tool_name: tool, principal, id }: ActionWire) {
  return html`<li key=${`${id} ${at}`} class="action">
    <span class="count">${time(at)}</span> <bdi>${tool ?? id}</bdi> <strong>${action}</strong>
    <span class="count">by <bdi>${operator ?? 'the program'}</bdi></span>
    ${principal !== undefined && html`<span class="count">for <bdi>${principal}</bdi></span>`}
  </li>`;
}

/** Shows grants, which operators can revoke, and operators' actions. */
export function ActionsView() {
  const { answer, error, again } = useJson<{
    readonly allowed: { readonly approve: boolean };
    readonly grants: readonly GrantWire[];
  }>('grants');
  const { answer: done } = useJson<{ readonly actions: readonly ActionWire[] }>('actions');
  const { act, isBusy, alert } = useAction();
  if (answer === undefined) return loading(error?.message);
  const revoke = (id: string) => act(() => ask(`grants/${id}`, undefined, 'DELETE').then(again));
  return html`
    <h2>Grants</h2>
    ${alert} ${answer.grants.length === 0 && html`<p class="muted">No active grants.</p>`}
    ${answer.grants.map(
      (grant) =>
        html`<article class="card" key=${grant.id} aria-label="Grant for ${grant.tool_name}">
          <h3><bdi>${grant.tool_name}</bdi></h3>
          <${Facts} facts=${factsOf(grant)} />
          ${
            answer.allowed.approve &&
            html`<button
              type="button"
              class="quiet"
              disabled=${isBusy}
              onClick=${() => revoke(grant.id)}
            >
              Revoke
            </button>`
          }
        </article>`,
    )}
    <h2>Actions</h2>
    ${callList(done?.actions ?? [])}
  `;
}

type GrantWire = Wire<Grant & { readonly used: number }>;

const factsOf = (grant: GrantWire): readonly Fact[] => [
  ['for', grant.principal ?? 'unnamed callers'],
  ['conversation', timelineLink(grant.conversation_id ?? undefined)],
  ['arguments', grant.input ? JSON.stringify(grant.input) : 'any'],
  ['used', `${grant.used}${grant.uses === undefined ? '' : ` of ${grant.uses}`} times`],
  ['until', new Date(grant.expires_at).toLocaleString()],
];
