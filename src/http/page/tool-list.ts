import { html } from 'htm/preact';
import { AccessMode, DangerLevel } from '../../core/enums.js';
import { currentRoute, hrefWith } from './route.js';
import { FILTERS, labelOf, YES_NO, type Filter } from './shown-fields.js';
import type { List, Tool } from './api.js';
import { levelMarks, noticeMarks, fold, number, pages, Table } from './parts.js';

/** Maximum number of characters of a description in a row. A longer description would never fit. */
const DESCRIPTION = 240;

/** Shows a page of the list of tools. */
export function toolList(list: List<Tool>) {
  return html`<div class="list-place">
    <div class="list">
      <div class="row list-head" aria-hidden="true">
        <span>Tool</span>
        <div class="row-facts">
          <span>Access</span><span>Danger</span><span>Cost</span><span>Health</span>
        </div>
      </div>
      <ol class="rows" aria-label="Tools">
        ${list.items.map(toolRow)}
      </ol>
    </div>
    ${pages(list)}
  </div>`;
}

/** Shows a row: a link to the tool, its levels, and why the search found it. */
function toolRow(tool: Tool) {
  const { name, persona: owner, version, score } = tool;
  const { parameters } = currentRoute();
  const isOpen = parameters.get('open') === name && parameters.get('owner') === owner;
  return html`<li key=${`${name}/${owner}`} class="row">
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

/**
 * Shows a matrix of access and danger, and all other filters with the number of tools that the server
 * counted for each value.
 */
export function filters({ facets = {}, cells = {} }: Partial<List<Tool>>) {
  const count = (access: string, danger: string) => cells[`${access} ${danger}`] ?? 0;
  const [modes, levels] = [Object.values(AccessMode), Object.values(DangerLevel)];
  return html`
    <${Table}
      kind="cells"
      label="Access by danger"
      heads=${['access', ...levels.map((danger) => cellButton(null, danger, facets['danger_level']?.[danger]))]}
      rows=${modes.map((access) => [
        cellButton(access, null, facets['access_mode']?.[access]),
        ...levels.map((danger) => cellButton(access, danger, count(access, danger))),
      ])}
    />
    ${FILTERS.filter(({ key }) => !['access_mode', 'danger_level'].includes(key)).map((filter) =>
      choices(filter, facets[filter.key]),
    )}
  `;
}

/** Returns a button that filters by access, danger or both. */
function cellButton(access: string | null, danger: string | null, count = 0) {
  const { parameters } = currentRoute();
  const chosen = { access_mode: access, danger_level: danger };
  const isPressed = Object.entries(chosen).every(
    ([name, value]) => parameters.getAll(name).join() === (value ?? ''),
  );
  const isEmpty = count === 0 && !isPressed;
  const isCell = access !== null && danger !== null;
  const words = [access, danger && `${danger} danger`].filter(Boolean).join(', ');
  return html`<button
    type="button"
    class=${isCell ? 'cell' : 'cell head'}
    data-level=${isCell && !isEmpty ? danger : 'none'}
    disabled=${isEmpty}
    aria-pressed=${String(isPressed)}
    aria-label=${`${words}: ${number(count)} tools`}
    onClick=${() =>
      location.assign(hrefWith(isPressed ? { access_mode: null, danger_level: null } : chosen))}
  >
    ${isCell ? number(count) : (access ?? danger)}
  </button>`;
}

/** Number of values of a filter that are shown at first, and after a click on the others. */
const SHOWN = 8;
const MOST = 200;

/** Shows the values of a filter, each with its number of tools. */
function choices({ key, order }: Filter, counts: Readonly<Record<string, number>> = {}) {
  const chosen = currentRoute().parameters.getAll(key);
  const countOf = new Map(Object.entries(counts));
  // Chosen values are shown even if no tool has them, so that people can clear them.
  const values = [...new Set([...countOf.keys(), ...chosen])].sort(
    (a, b) => order.indexOf(a) - order.indexOf(b) || (countOf.get(b) ?? 0) - (countOf.get(a) ?? 0),
  );
  if (values.length === 0) return null;
  const first = new Set([...values.slice(0, SHOWN), ...chosen]);
  const others = values.slice(0, MOST).filter((value) => !first.has(value));
  const choice = (value: string) => {
    const isChosen = chosen.includes(value);
    const next = isChosen ? chosen.filter((each) => each !== value) : [...chosen, value];
    return html`<label key=${value} class="choice">
      <input
        type="checkbox"
        checked=${isChosen}
        onChange=${() => location.assign(hrefWith({ [key]: next }))}
      />
      <bdi class="choice-name">${YES_NO[value] ?? value}</bdi>
      <span class="count">${number(countOf.get(value) ?? 0)}</span>
    </label>`;
  };
  return html`<fieldset key=${key} class="axis">
    <legend>${labelOf(key)}</legend>
    ${values.filter((value) => first.has(value)).map(choice)}
    ${others.length > 0 && fold(`${number(others.length)} more`, others.map(choice))}
  </fieldset>`;
}
