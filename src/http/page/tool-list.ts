import { html } from 'htm/preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { AccessMode, DangerLevel } from '../../core/enums.js';
import { AXES, currentRoute, hrefWith, type Axis } from './route.js';
import type { List, Tool } from './api.js';
import { levelMarks, noticeMarks, number, Table } from './parts.js';

/** Number of rows that are shown at first, and added by "Show more". */
const ROWS = 200;
/** Maximum number of characters of a description in a row. A longer description would never fit. */
const DESCRIPTION = 240;

interface ListProps {
  readonly tools: readonly Tool[];
  /** The query that the list answers. When the query changes, the list scrolls to the top. */
  readonly query: string;
}

/** Shows the list of tools. A button shows more of a long list. */
export function ToolList({ tools, query }: ListProps) {
  const place = useRef<HTMLDivElement>(null);
  const [most, setMost] = useState(ROWS);
  useLayoutEffect(() => {
    place.current!.scrollTo(0, 0);
    setMost(ROWS);
  }, [query]);
  return html`<div class="list-place" ref=${place}>
    <div class="list">
      <div class="row list-head" aria-hidden="true">
        <span>Tool</span>
        <div class="row-facts">
          <span>Access</span><span>Danger</span><span>Cost</span><span>Health</span>
        </div>
      </div>
      <ol class="rows" aria-label="Tools">
        ${tools
          .slice(0, most)
          .map((tool) => html`<${ToolRow} key=${`${tool.name}/${tool.persona}`} tool=${tool} />`)}
      </ol>
      ${
        tools.length > most &&
        html`<button type="button" class="quiet" onClick=${() => setMost(most + ROWS)}>
          Show more (${number(tools.length - most)} left)
        </button>`
      }
    </div>
  </div>`;
}

/** Shows a row: a link to the tool, its levels, and why the search found it. */
function ToolRow({ tool }: { readonly tool: Tool }) {
  const { name, persona: owner, version, score } = tool;
  const { parameters } = currentRoute();
  const isOpen = parameters.get('open') === name && parameters.get('owner') === owner;
  return html`<li class="row">
    <div class="row-name">
      <a
        class="row-link"
        href=${hrefWith({ open: name, owner })}
        aria-current=${isOpen ? 'true' : undefined}
        >${name}</a
      >
      ${version !== null && html`<span class="version">${version}</span>`} ${noticeMarks(tool)}
    </div>
    <p class="row-text">${tool.description.slice(0, DESCRIPTION)}</p>
    <div class="row-facts">${levelMarks(tool)}</div>
    ${
      score !== undefined &&
      html`<p class="row-why">
        <bdi>${tool.explanation}</bdi>
        <span class="score" title="score: higher matches better; only the order is meaningful"
          >${score.toFixed(2)}</span
        >
      </p>`
    }
  </li>`;
}

type Counted = Pick<List<Tool>, 'facets' | 'cells'>;

/** Shows every axis with its values, and how many tools the server counted for each value. */
export function Filters({ facets = {}, cells = {} }: Counted) {
  return html`
    <${Table}
      kind="cells"
      label="Access by danger"
      heads=${['access', ...Object.values(DangerLevel)]}
      rows=${Object.values(AccessMode).map((access) => [
        access,
        ...Object.values(DangerLevel).map((danger) => cellButton(access, danger, cells)),
      ])}
    />
    ${AXES.map(
      (axis) =>
        html`<${AxisFilter} key=${axis.key} axis=${axis} counts=${facets[axis.key] ?? {}} />`,
    )}
  `;
}

/** Returns a button that filters by access and danger. */
function cellButton(access: string, danger: string, cells: NonNullable<Counted['cells']>) {
  const count = cells[`${access} ${danger}`] ?? 0;
  const { parameters } = currentRoute();
  const isPressed =
    parameters.getAll('access_mode').join() === access &&
    parameters.getAll('danger_level').join() === danger;
  const isEmpty = count === 0 && !isPressed;
  const chosen = isPressed
    ? { access_mode: null, danger_level: null }
    : { access_mode: access, danger_level: danger };
  return html`<button
    type="button"
    class="cell"
    data-level=${isEmpty ? 'none' : danger}
    disabled=${isEmpty}
    aria-pressed=${String(isPressed)}
    aria-label=${`${access}, ${danger} danger: ${number(count)} tools`}
    onClick=${() => location.assign(hrefWith(chosen))}
  >
    ${number(count)}
  </button>`;
}

/** Number of values of an axis that are shown at first, and after a click on More. */
const SHOWN = 8;
const MOST = 200;

interface AxisProps {
  readonly axis: Axis;
  readonly counts: Readonly<Record<string, number>>;
}

function AxisFilter({ axis: { key, label, order, words }, counts }: AxisProps) {
  const [isExpanded, setExpanded] = useState(false);
  const chosen = currentRoute().parameters.getAll(key);
  const countOf = new Map(Object.entries(counts));
  // Chosen values are shown even if no tool has them, so that people can clear them.
  const values = [...new Set([...countOf.keys(), ...chosen])].sort(
    (a, b) => order.indexOf(a) - order.indexOf(b) || (countOf.get(b) ?? 0) - (countOf.get(a) ?? 0),
  );
  if (values.length === 0) return null;
  const shown = values.filter(
    (value, index) => index < (isExpanded ? MOST : SHOWN) || chosen.includes(value),
  );
  return html`<fieldset class="axis">
    <legend>${label}</legend>
    ${shown.map((value) => {
      const isChosen = chosen.includes(value);
      const next = isChosen ? chosen.filter((each) => each !== value) : [...chosen, value];
      return html`<label key=${value} class="choice">
        <input
          type="checkbox"
          checked=${isChosen}
          onChange=${() => location.assign(hrefWith({ [key]: next }))}
        />
        <bdi class="choice-name">${words?.[value === 'true' ? 0 : 1] ?? value}</bdi>
        <span class="count">${number(countOf.get(value) ?? 0)}</span>
      </label>`;
    })}
    ${
      values.length > SHOWN &&
      html`<button
        type="button"
        class="quiet"
        aria-expanded=${String(isExpanded)}
        onClick=${() => setExpanded(!isExpanded)}
      >
        ${isExpanded ? 'Fewer' : 'More'}
      </button>`
    }
  </fieldset>`;
}
