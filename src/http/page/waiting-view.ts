import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import type { Pending, PendingApproval, PendingQuestion } from '../../safety/calls.js';
import type { GrantChoice } from '../../safety/grants.js';
import type { Allowed } from '../operator-room.js';
import type { Wire } from '../operator-routes.js';
import { ask, useJson } from './api.js';
import { loading, partFilters, partsIn, stay, timelineLink } from './operator-views.js';
import { Facts, mark, number, pre, time, useAction, useFocus, type Fact } from './parts.js';
import { currentRoute, hrefWith } from './route.js';

type OnlySome<T> = Partial<Wire<Omit<T, 'kind'>>>;
type PendingWire = Wire<Pending> &
  OnlySome<PendingApproval> &
  OnlySome<PendingQuestion> & {
    readonly digest: string;
    readonly grant_choices: readonly GrantChoice[];
  };

/** The waiting calls, and what the user's token allows. */
interface Waiting {
  readonly allowed: Allowed;
  readonly next: string | null;
  readonly pending: readonly PendingWire[];
}

/** Number of open calls that are shown. */
const SHOWN = 200;

/** Shows the waiting calls that match the filters in the URL, or the call that a link leads to. */
export function WaitingView() {
  const { parameters } = currentRoute();
  const linked = parameters.get('open');
  const query = linked === null ? partsIn(parameters).toString() : `id=${linked}`;
  return html`
    ${linked === null ? html`<form class="call-filters" onSubmit=${stay}>${partFilters()}</form>` : html`<p><a href=${hrefWith({ open: null })}>All waiting calls</a></p>`}
    <${WaitingList} key=${query} query=${query} isLinked=${linked !== null} />
  `;
}

interface ListProps {
  readonly query: string;
  /** True if the list is the call that a link leads to. */
  readonly isLinked: boolean;
}

/**
 * Lists the calls that are waiting for a person, oldest first. Nothing moves while the user reads:
 * other calls are added at the end, and answered calls stay in their places until the user hides them.
 */
function WaitingList({ query, isLinked }: ListProps) {
  const [listed, setListed] = useState<{
    readonly calls: readonly PendingWire[];
    /** The number of calls that were there already when the whole list had been read. */
    readonly seen: number;
    readonly isWhole: boolean;
  }>({ calls: [], seen: 0, isWhole: false });
  const { answer, error, again } = useJson<Waiting>(`pending?limit=${SHOWN}&${query}`);
  if (answer === undefined) return loading(error?.message);
  const { pending, allowed, next } = answer;
  const open = new Set(pending.map(({ id }) => id));
  const shown = new Set(listed.calls.map(({ id }) => id));
  const added = pending.filter(({ id }) => !shown.has(id));
  const calls = [...listed.calls, ...added];
  const isWhole = next === null;
  if (added.length > 0)
    setListed({ calls, isWhole, seen: listed.isWhole ? listed.seen : calls.length });
  const tidy = () => setListed({ calls: pending, isWhole, seen: pending.length });
  const gone = calls.filter(({ id }) => !open.has(id)).length;
  const fresh = calls.length - listed.seen;
  const card = (each: PendingWire) =>
    html`<${PendingCard}
      key=${each.id}
      pending=${each}
      isLinked=${isLinked}
      isOpen=${open.has(each.id)}
      mayAnswer=${allowed.approve}
      onDone=${again}
    />`;
  return html`
    <div class="list-bar">
      <span class="count" role="status">${summaryOf(query, calls.length, open.size, isWhole)}</span>
      <button type="button" class="quiet" disabled=${gone === 0} onClick=${tidy}>
        Hide ${number(gone)} answered
      </button>
    </div>
    ${!allowed.approve && html`<p class="muted">With this token you can view calls but not answer them.</p>`}
    ${calls.slice(0, listed.seen).map(card)}
    ${listed.seen > 0 && fresh > 0 && html`<h2 key="new" class="new-bar">${number(fresh)} new</h2>`}
    ${calls.slice(listed.seen).map(card)}
  `;
}

function summaryOf(query: string, listed: number, open: number, isWhole: boolean): string {
  if (!isWhole) return `The ${SHOWN} oldest calls. The next ones follow as you answer.`;
  if (open > 0) return `${number(open)} waiting, oldest first`;
  if (query === '') return 'Nothing is waiting for you.';
  return query.startsWith('id=') && listed === 0
    ? "The call that the link leads to isn't waiting any more."
    : 'No such call is waiting.';
}

interface CardProps {
  readonly pending: PendingWire;
  /** True if a link led to this call. */
  readonly isLinked: boolean;
  /** False if the call has been answered or has expired. */
  readonly isOpen: boolean;
  readonly mayAnswer: boolean;
  readonly onDone: () => void;
}

const KINDS = {
  approval: { tag: 'approval', field: 'Arguments, which you can change' },
  question: { tag: 'question', field: 'Your answer' },
  manual: { tag: 'manual work', field: 'The result, as JSON' },
};

function PendingCard({ pending, isLinked, isOpen, mayAnswer, onDone }: CardProps) {
  const { kind, tool_name: tool, preview, danger } = pending;
  const place = useFocus(isLinked);
  const inputText = JSON.stringify(pending.input, null, 2);
  return html`<article
    class="card pending"
    tabindex="-1"
    ref=${place}
    aria-current=${isLinked ? 'true' : undefined}
    aria-label="${tool} (${pending.call_id})"
    data-open=${isOpen}
  >
    <h2>
      <bdi>${tool}</bdi>
      ${danger && mark('danger', danger)}
      <span class="tag">${isOpen ? KINDS[kind].tag : 'no longer waiting'}</span>
    </h2>
    <p><strong>${pending.question}</strong></p>
    <${Facts} facts=${factsOf(pending)} />
    ${preview?.reversible === false && html`<p class="problem">This can't be undone.</p>`}
    ${preview?.diff !== undefined && pre('Changes', preview.diff)}
    ${!(kind === 'approval' && mayAnswer) && inputText !== '{}' && pre('Arguments', inputText)}
    ${pending.form !== undefined && pre('Form', pending.form)}
    ${
      mayAnswer &&
      html`<fieldset disabled=${!isOpen}>
        <${Answering} pending=${pending} inputText=${inputText} onDone=${onDone} />
      </fieldset>`
    }
  </article>`;
}

function factsOf({ preview, no_preview: why, ...pending }: PendingWire): readonly Fact[] {
  return [
    ['for', pending.principal ?? 'an unnamed caller'],
    ['conversation', timelineLink(pending.conversation_id)],
    ['since', time(pending.created_at)],
    ['until', pending.expires_at && time(pending.expires_at)],
    ['reason', pending.reason],
    ['effect', preview?.summary ?? (why && `No preview: ${why}.`)],
    ['to', preview?.recipients],
    ['cost', preview?.cost],
  ];
}

/** A way to answer a call. */
interface Answer {
  readonly label: string;
  readonly action: string;
  readonly body: () => object;
  readonly style?: 'primary' | 'quiet';
}

interface AnsweringProps {
  readonly pending: PendingWire;
  /** The arguments as shown. */
  readonly inputText: string;
  readonly onDone: () => void;
}

/**
 * Shows the ways to answer a call. An approval of a dangerous call takes a second click, for which the
 * second click of a double click doesn't count.
 */
function Answering({ pending, inputText, onDone }: AnsweringProps) {
  const { id, kind, danger = '', digest, preview, tool_name: tool } = pending;
  const isDangerous = kind === 'approval' && ['high', 'critical'].includes(danger);
  const [text, setText] = useState(kind === 'approval' ? inputText : '');
  const [asked, setAsked] = useState<Answer>();
  const { act, isBusy, alert } = useAction();
  const send = ({ action, body }: Answer) => {
    setAsked(undefined);
    act(() => ask(`pending/${id}/${action}`, { ...body(), digest }).then(onDone));
  };
  const button = (answer: Answer, onClick: () => void) =>
    html`<button
      type="button"
      class=${answer.style ?? 'quiet'}
      disabled=${isBusy}
      onClick=${({ detail }: MouseEvent) => detail < 2 && onClick()}
    >
      ${answer.label}
    </button>`;
  const offered = answersTo(pending, text, inputText);
  const hasField = pending.options === undefined;
  const effect = preview?.summary ?? `${tool} ${text}`;
  return html`
    ${
      hasField &&
      html`<label>
        <span class="count">${KINDS[kind].field}</span>
        <textarea
          rows=${Math.min(12, text.split('\n').length + 1)}
          value=${text}
          readonly=${asked !== undefined}
          spellcheck=${false}
          onInput=${({ target }: Event) => setText((target as HTMLTextAreaElement).value)}
        ></textarea>
      </label>`
    }
    <div class="actions">
      ${
        asked === undefined
          ? offered.map((answer) =>
              button(answer, () =>
                isDangerous && answer.action !== 'deny' ? setAsked(answer) : send(answer),
              ),
            )
          : [
              button({ ...asked, label: 'Cancel', style: 'quiet' }, () => setAsked(undefined)),
              button({ ...asked, label: `Yes: ${effect}` }, () => send(asked)),
            ]
      }
    </div>
    ${alert}
  `;
}

/** Returns the ways to answer a call with the text that the user typed. */
function answersTo(pending: PendingWire, text: string, inputText: string): readonly Answer[] {
  const { kind, grant_choices: grants } = pending;
  const isEdited = text !== inputText;
  const typed = () => (kind === 'question' ? text : (JSON.parse(text) as unknown));
  const style = 'primary';
  const approve = {
    label: isEdited ? 'Approve these arguments' : 'Approve',
    action: 'approve',
    body: () => (isEdited ? { input: typed() } : {}),
    style,
  } as const;
  const answer = (label: string, value: () => unknown) =>
    ({ label, action: 'answer', body: () => ({ value: value() }), style }) as const;
  return [
    ...(pending.options ?? []).map((option) => answer(option, () => option)),
    ...(kind === 'approval' ? [approve] : text === '' ? [] : [answer('Answer', typed)]),
    { label: 'Deny', action: 'deny', body: () => ({}) },
    ...grants.map(({ label, scope }) => ({
      label: `Also allow: ${label}`,
      action: 'grant',
      body: () => scope,
    })),
  ];
}
