import type { HitWire } from './wire.js';
import { button, element, listening, replaceContent } from './element.js';
import { FACT_HEADS, factMarks, noticeMarks } from './marks.js';
import { formatRoute, type Route } from './route.js';
import { keyOfTool, type Facet, type Row } from './rows.js';

/** Rows that are made at once. Ten thousand would take the browser seconds, and users read no more than some hundred. */
const WINDOW = 100;

/** The list of tools, made as far as users scroll or walk. */
export class ToolList {
  readonly #place: HTMLElement;
  readonly #onMore = new IntersectionObserver((seen) => {
    if (seen.some(({ isIntersecting }) => isIntersecting)) this.#showMore();
  });
  #rows: readonly Row[] = [];
  #route: Route | undefined;
  #shown = WINDOW;
  /** The row that Tab reaches: the last one with the focus. */
  #current: string | undefined;

  constructor(place: HTMLElement) {
    this.#place = place;
    place.addEventListener('focusin', ({ target }) => {
      if (target instanceof HTMLElement && target.classList.contains('row-link'))
        this.#setCurrent(target);
    });
  }

  /**
   * Shows other rows, or a text if there are none. `fresh` begins at the top, for another question; otherwise the place
   * is kept.
   */
  show(rows: readonly Row[], route: Route, fresh: boolean, empty: string): void {
    this.#rows = rows;
    this.#route = route;
    if (fresh) this.#shown = WINDOW;
    if (rows.length === 0) this.#place.replaceChildren(element('p', { class: 'empty' }, empty));
    else this.#render();
    if (fresh) this.#place.scrollTop = 0;
  }

  /** Moves the focus by rows: to the first if no row has it. @returns true if there is such a row. */
  move(by: number): boolean {
    const links = this.#links();
    const at = links.findIndex((link) => link.dataset['key'] === this.#current);
    const inside = this.#place.contains(document.activeElement);
    const next =
      at === -1 ? 0 : inside || document.activeElement?.closest('.detail') ? at + by : at;
    if (next >= links.length && this.#shown < this.#rows.length) {
      this.#showMore();
      return this.move(by);
    }
    const link = links[next];
    link?.focus();
    link?.closest('.row')?.scrollIntoView({ block: 'nearest' });
    return link !== undefined;
  }

  /** Gives the focus to the row of a tool, if it is there. */
  focusTool(name: string, owner: string | null): void {
    const key = rowKey(keyOfTool(name, owner));
    this.#links()
      .find((link) => link.dataset['key'] === key)
      ?.focus();
  }

  #links(): readonly HTMLAnchorElement[] {
    return [...this.#place.querySelectorAll<HTMLAnchorElement>('a.row-link')];
  }

  #setCurrent(link: HTMLElement): void {
    for (const other of this.#links()) other.tabIndex = other === link ? 0 : -1;
    this.#current = link.dataset['key'];
  }

  #showMore(): void {
    if (this.#shown >= this.#rows.length) return;
    this.#shown += WINDOW;
    this.#render();
  }

  #render(): void {
    const route = this.#route;
    if (route === undefined) return;
    const shown = this.#rows.slice(0, this.#shown);
    const keys = shown.map(({ tool }) => rowKey(keyOfTool(tool.name, tool.persona)));
    const current = Math.max(0, keys.indexOf(this.#current ?? ''));
    const rest = this.#rows.length - shown.length;
    const more =
      rest > 0 &&
      button(`Show more (${rest.toLocaleString('en')} left)`, () => this.#showMore(), {
        class: 'quiet more',
        'data-key': 'more',
      });
    this.#onMore.disconnect();
    const head = element(
      'div',
      { class: 'row list-head', 'aria-hidden': 'true' },
      element('span', {}, 'Tool'),
      element(
        'div',
        { class: 'row-facts' },
        ...FACT_HEADS.map((name) => element('span', {}, name)),
      ),
    );
    const list = element(
      'ol',
      { class: 'rows', 'aria-label': 'Tools' },
      ...shown.map((row, index) => toolRow(row, route, index === current)),
    );
    replaceContent(this.#place, element('div', { class: 'list' }, head, list, more));
    if (more !== false) this.#onMore.observe(more);
  }
}

/** Characters of a description in a list: more than fit, but not too many to load. */
const DESCRIPTION = 240;

/** Shows a tool in the list: a link to it, its facts, and the reason why it was found. */
function toolRow({ tool, hit }: Row, route: Route, reachable: boolean): HTMLElement {
  const isOpen = route.name === tool.name && route.owner === tool.persona;
  const link = element(
    'a',
    {
      class: 'row-link',
      href: formatRoute({ ...route, name: tool.name, owner: tool.persona }),
      'data-key': rowKey(keyOfTool(tool.name, tool.persona)),
      'aria-current': isOpen && 'true',
      tabindex: reachable ? 0 : -1,
    },
    tool.name,
  );
  return element(
    'li',
    { class: 'row' },
    element(
      'div',
      { class: 'row-name' },
      link,
      tool.version !== null && element('span', { class: 'version' }, tool.version),
      ...noticeMarks(tool),
    ),
    element('p', { class: 'row-text' }, tool.description.slice(0, DESCRIPTION)),
    element('div', { class: 'row-facts' }, ...factMarks(tool)),
    hit !== null && reasons(hit),
  );
}

/** Returns the key by which a row's link is recognized. */
function rowKey(toolKey: string): string {
  return `row:${toolKey}`;
}

/** Shows the words of the request by field, and the score. */
function reasons({ matches, corrections, score }: HitWire): HTMLElement {
  const wordsByField = new Map<string, string[]>();
  for (const { word, fields, related } of matches) {
    for (const field of fields)
      wordsByField.set(field, [...(wordsByField.get(field) ?? []), related ? `≈ ${word}` : word]);
  }
  return element(
    'p',
    { class: 'row-why' },
    ...[...wordsByField].map(([field, words]) =>
      element(
        'span',
        { class: 'why' },
        element('span', { class: 'why-field' }, field),
        ' ',
        element('bdi', { class: 'why-words' }, words.join(', ')),
      ),
    ),
    ...corrections.map(({ word, read_as }) =>
      element(
        'span',
        { class: 'why' },
        element('span', { class: 'why-field' }, 'read'),
        ' ',
        element('bdi', { class: 'why-words' }, `${word} as ${read_as}`),
      ),
    ),
    element(
      'span',
      { class: 'score', title: 'score: higher fits better; only the order means something' },
      score.toFixed(2),
    ),
  );
}

/** The values of an axis that are shown at first, and on demand. */
const SHOWN = 8;
const MOST = 200;

/** Shows every axis with its values, and the number of tools that each would leave. */
export function filtersView(
  facets: readonly Facet[],
  expanded: ReadonlySet<string>,
  onChoose: (axis: string, value: string, chosen: boolean) => void,
  onExpand: (axis: string) => void,
): readonly HTMLElement[] {
  return facets
    .filter(({ values }) => values.length > 0)
    .map((facet) => axisView(facet, expanded.has(facet.axis.key), onChoose, onExpand));
}

function axisView(
  { axis, values }: Facet,
  expanded: boolean,
  onChoose: (axis: string, value: string, chosen: boolean) => void,
  onExpand: (axis: string) => void,
): HTMLElement {
  const shown = values.filter(({ chosen }, index) => index < (expanded ? MOST : SHOWN) || chosen);
  const rest = Math.min(values.length, MOST) - shown.length;
  return element(
    'fieldset',
    { class: 'axis' },
    element('legend', {}, axis.label),
    ...shown.map(({ value, count, chosen }) => {
      const box = element('input', {
        type: 'checkbox',
        'data-key': `filter:${axis.key}:${value}`,
        name: axis.key,
        value,
      });
      box.checked = chosen;
      listening(box, { change: () => onChoose(axis.key, value, box.checked) });
      const words =
        axis.words !== undefined && Object.hasOwn(axis.words, value) ? axis.words[value] : value;
      return element(
        'label',
        { class: count === 0 ? 'choice none' : 'choice' },
        box,
        element('bdi', { class: 'choice-name' }, words),
        element('span', { class: 'count' }, count.toLocaleString('en')),
      );
    }),
    (rest > 0 || expanded) &&
      button(expanded ? 'Fewer' : `${rest} more`, () => onExpand(axis.key), {
        class: 'quiet',
        'aria-expanded': String(expanded),
        'data-key': `expand:${axis.key}`,
      }),
  );
}
