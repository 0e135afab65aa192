import { button, element } from '../dom/element.js';
import { replaceContent } from '../dom/replace-content.js';
import type { Route } from '../state/route.js';
import { keyOfTool, type Row } from '../state/select-rows.js';
import { FACT_HEADS } from './marks.js';
import { rowKey, toolRow } from './tool-row.js';

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
      if (target instanceof HTMLElement && target.classList.contains('row-link')) this.#setCurrent(target);
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
    const next = at === -1 ? 0 : inside || document.activeElement?.closest('.detail') ? at + by : at;
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
    this.#links().find((link) => link.dataset['key'] === key)?.focus();
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
    const more = rest > 0 && button(`Show more (${rest.toLocaleString('en')} left)`, () => this.#showMore(), { class: 'quiet more', 'data-key': 'more' });
    this.#onMore.disconnect();
    const head = element('div', { class: 'row list-head', 'aria-hidden': 'true' }, element('span', {}, 'Tool'), element('div', { class: 'row-facts' }, ...FACT_HEADS.map((name) => element('span', {}, name))));
    const list = element('ol', { class: 'rows', 'aria-label': 'Tools' }, ...shown.map((row, index) => toolRow(row, route, index === current)));
    replaceContent(this.#place, element('div', { class: 'list' }, head, list, more));
    if (more !== false) this.#onMore.observe(more);
  }
}
