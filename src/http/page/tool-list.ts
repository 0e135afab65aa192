import { html } from 'htm/preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import {
  ACCESS_AND_DANGER,
  AXES,
  formatRoute,
  withFilter,
  type Axis,
  type Route,
} from './route.js';
import type { ListPage, Tool } from './api.js';
import { FactMarks, NoticeMarks, number } from './marks.js';

/** Number of rows in the page at a time, and how many of them are above the visible part. */
const WINDOW = 100;
const ABOVE = 30;
const STEP = 10;
const USUAL_HEIGHT = 60;
/**
 * Number of characters of a description in the list: more than fit, but few enough to load quickly.
 */
const DESCRIPTION = 240;

export const keyOf = ({ name, persona }: Pick<Tool, 'name' | 'persona'>) =>
  `${name}/${persona ?? ''}`;

interface ListProps {
  readonly tools: readonly Tool[];
  readonly route: Route;
  /** The query that the list answers. A new result starts at the top. */
  readonly question: string;
  readonly empty: string;
  /** Receives a function that moves the focus by a number of rows. */
  readonly onMount: (move: (by: number | string) => void) => void;
}

/**
 * Shows the list of tools. Only the rows around the visible part are in the page, because there may
 * be thousands.
 */
export function ToolList({ tools, route, question, empty, onMount }: ListProps) {
  const place = useRef<HTMLDivElement>(null);
  const [start, setStart] = useState(0);
  const [current, setCurrent] = useState('');
  const wanted = useRef<string>();
  const height = useRef(USUAL_HEIGHT);
  const from = Math.max(0, Math.min(start, tools.length - WINDOW));
  const shown = tools.slice(from, from + WINDOW);
  const keys = tools.map(keyOf);
  const reachable = keys.includes(current) ? current : keys[from];

  onMount((by) => {
    const at = keys.indexOf(current);
    const inside = document.activeElement?.closest('.list-place, .detail') != null;
    const next = typeof by === 'string' ? keys.indexOf(by) : at === -1 ? 0 : inside ? at + by : at;
    if (tools[next] === undefined) return;
    wanted.current = keys[next];
    setCurrent(keys[next]!);
    if (next < from || next >= from + WINDOW) setStart(Math.max(0, next - ABOVE));
    else focusWanted();
  });
  const focusWanted = () => {
    const links = [...(place.current?.querySelectorAll<HTMLElement>('a.row-link') ?? [])];
    const link = links.find((each) => each.dataset['key'] === wanted.current);
    if (link === undefined || wanted.current === undefined) return;
    wanted.current = undefined;
    link.focus();
    link.closest('.row')?.scrollIntoView({ block: 'nearest' });
  };
  useLayoutEffect(() => {
    const rows = place.current?.querySelectorAll('li.row') ?? [];
    const last = rows[rows.length - 1]?.getBoundingClientRect().bottom;
    if (last !== undefined)
      height.current = (last - rows[0]!.getBoundingClientRect().top) / rows.length;
    focusWanted();
  });
  useLayoutEffect(() => {
    setStart(0);
    place.current?.scrollTo(0, 0);
  }, [question]);
  const onScroll = () => {
    const first = Math.floor(place.current!.scrollTop / height.current) - ABOVE;
    setStart(Math.max(0, Math.floor(first / STEP) * STEP));
  };
  const spacer = (rows: number) =>
    rows > 0 &&
    html`<li
      class="spacer"
      aria-hidden="true"
      style=${{ height: `${rows * height.current}px` }}
    ></li>`;

  return html`<div class="list-place" ref=${place} onScroll=${onScroll}>
    ${
      tools.length === 0
        ? html`<p class="empty">${empty}</p>`
        : html`<div class="list">
            <div class="row list-head" aria-hidden="true">
              <span>Tool</span>
              <div class="row-facts">
                <span>Access</span><span>Danger</span><span>Cost</span><span>Health</span>
              </div>
            </div>
            <ol class="rows" aria-label="Tools">
              ${spacer(from)}
              ${shown.map(
                (tool) =>
                  html`<${ToolRow}
                    key=${keyOf(tool)}
                    tool=${tool}
                    route=${route}
                    isReachable=${keyOf(tool) === reachable}
                    onFocus=${() => setCurrent(keyOf(tool))}
                  />`,
              )}
              ${spacer(tools.length - from - shown.length)}
            </ol>
          </div>`
    }
  </div>`;
}

interface RowProps {
  readonly tool: Tool;
  readonly route: Route;
  readonly isReachable: boolean;
  readonly onFocus: () => void;
}

/** Shows a row: a link to the tool, its facts, and the reason why it was found. */
function ToolRow({ tool, route, isReachable, onFocus }: RowProps) {
  const isOpen = route.name === tool.name && route.owner === tool.persona;
  return html`<li class="row">
    <div class="row-name">
      <a
        class="row-link"
        href=${formatRoute({ ...route, name: tool.name, owner: tool.persona })}
        data-key=${keyOf(tool)}
        aria-current=${isOpen ? 'true' : undefined}
        tabindex=${isReachable ? 0 : -1}
        onFocus=${onFocus}
        >${tool.name}</a
      >
      ${tool.version !== null && html`<span class="version">${tool.version}</span>`}
      <${NoticeMarks} tool=${tool} />
    </div>
    <p class="row-text">${tool.description.slice(0, DESCRIPTION)}</p>
    <div class="row-facts"><${FactMarks} tool=${tool} /></div>
    ${tool.matches !== undefined && html`<${Reasons} tool=${tool} />`}
  </li>`;
}

/** Shows the matched words by field, and the score. */
function Reasons({ tool: { matches = [], corrections = [], score = 0 } }: { readonly tool: Tool }) {
  const wordsByField = new Map<string, readonly string[]>();
  for (const { word, fields, related } of matches)
    for (const field of fields)
      wordsByField.set(field, [...(wordsByField.get(field) ?? []), related ? `≈ ${word}` : word]);
  const reasons = [
    ...[...wordsByField].map(([field, words]) => [field, words.join(', ')]),
    ...corrections.map(({ word, read_as }) => ['read', `${word} as ${read_as}`]),
  ];
  return html`<p class="row-why">
    ${reasons.map(
      ([field, words]) =>
        html`<span class="why"
          ><span class="why-field">${field}</span>${' '}<bdi class="why-words">${words}</bdi></span
        >`,
    )}
    <span class="score" title="score: higher matches better; only the order is meaningful"
      >${score.toFixed(2)}</span
    >
  </p>`;
}

interface FilterProps {
  readonly route: Route;
  readonly answer: Pick<ListPage, 'facets' | 'cells'>;
  readonly onGo: (route: Route) => void;
}

/** Number of values of an axis that are shown initially, and after expanding. */
const SHOWN = 8;
const MOST = 200;

/**
 * Shows every axis with its values, and how many tools would match each value according to the
 * server.
 */
export function Filters({ route, answer, onGo }: FilterProps) {
  const { facets = {}, cells = {} } = answer;
  return html`<div class="axes">
    <${DangerGrid} route=${route} answer=${{ cells }} onGo=${onGo} />
    ${AXES.map(
      (axis) =>
        html`<${AxisFilter}
          key=${axis.key}
          axis=${axis}
          counts=${facets[axis.key] ?? {}}
          route=${route}
          onGo=${onGo}
        />`,
    )}
  </div>`;
}

/** Shows the number of tools by access and danger. Clicking a cell filters by both. */
function DangerGrid({ route, answer: { cells = {} }, onGo }: FilterProps) {
  const [access, danger] = ACCESS_AND_DANGER;
  const isChosen = (axis: Axis, value: string) =>
    route.filters.get(axis.key)?.size === 1 && route.filters.get(axis.key)!.has(value);
  return html`<table class="cells">
    <caption>
      Access by danger
    </caption>
    <thead>
      <tr>
        <td></td>
        ${danger.order!.map((level) => html`<th scope="col">${level}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${access.order!.map(
        (mode) =>
          html`<tr>
            <th scope="row">${mode}</th>
            ${danger.order!.map((level) => {
              const count = cells[`${mode} ${level}`] ?? 0;
              const isPressed = isChosen(access, mode) && isChosen(danger, level);
              const choose = () => {
                const filters = new Map(route.filters);
                for (const [axis, value] of [
                  [access, mode],
                  [danger, level],
                ] as const)
                  if (isPressed) filters.delete(axis.key);
                  else filters.set(axis.key, new Set([value]));
                onGo({ ...route, filters });
              };
              const isEmpty = count === 0 && !isPressed;
              return html`<td>
                <button
                  type="button"
                  class="cell"
                  data-level=${isEmpty ? 'none' : level}
                  disabled=${isEmpty}
                  aria-pressed=${String(isPressed)}
                  aria-label=${`${mode}, ${level} danger: ${number(count)} tools`}
                  onClick=${choose}
                >
                  ${number(count)}
                </button>
              </td>`;
            })}
          </tr>`,
      )}
    </tbody>
  </table>`;
}

interface AxisProps extends Omit<FilterProps, 'answer'> {
  readonly axis: Axis;
  readonly counts: Readonly<Record<string, number>>;
}

function AxisFilter({ axis, counts, route, onGo }: AxisProps) {
  const [isExpanded, setExpanded] = useState(false);
  const chosen = route.filters.get(axis.key) ?? new Set<string>();
  const place = (value: string) =>
    axis.order?.includes(value) === true ? axis.order.indexOf(value) : Infinity;
  const countOf = (value: string) => (Object.hasOwn(counts, value) ? counts[value]! : 0);
  // Chosen values are shown even if no tool has them, so that people can unselect them.
  const values = [...new Set([...Object.keys(counts), ...chosen])].sort(
    (a, b) => place(a) - place(b) || 0 || countOf(b) - countOf(a) || (a < b ? -1 : 1),
  );
  if (values.length === 0) return null;
  const shown = values.filter(
    (value, index) => index < (isExpanded ? MOST : SHOWN) || chosen.has(value),
  );
  const rest = Math.min(values.length, MOST) - shown.length;
  return html`<fieldset class="axis">
    <legend>${axis.label}</legend>
    ${shown.map(
      (value) =>
        html`<label key=${value} class=${countOf(value) === 0 ? 'choice none' : 'choice'}>
          <input
            type="checkbox"
            name=${axis.key}
            value=${value}
            checked=${chosen.has(value)}
            onChange=${(event: Event) =>
              onGo(withFilter(route, axis.key, value, (event.target as HTMLInputElement).checked))}
          />
          <bdi class="choice-name">${axis.words?.[value] ?? value}</bdi>
          <span class="count">${number(countOf(value))}</span>
        </label>`,
    )}
    ${
      (rest > 0 || isExpanded) &&
      html`<button
        type="button"
        class="quiet"
        aria-expanded=${String(isExpanded)}
        onClick=${() => setExpanded(!isExpanded)}
      >
        ${isExpanded ? 'Fewer' : `${rest} more`}
      </button>`
    }
  </fieldset>`;
}
