export type Child = Node | string | null | undefined | false;
type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;
type Handlers = {
  readonly [Name in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Name]) => void;
};

const SVG = 'http://www.w3.org/2000/svg';

/**
 * Makes an element with attributes and children. Strings become text and never markup.
 *
 * `null`, `undefined` and `false` leave an attribute or child out; `true` sets an attribute without a value.
 */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  return fill(document.createElement(tag), attributes, children);
}

/** Makes an element of a drawing in the same way. */
export function svgElement<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Adds listeners to an element and returns it. */
export function listening<T extends HTMLElement>(node: T, handlers: Handlers): T {
  for (const [name, handler] of Object.entries(handlers))
    node.addEventListener(name, handler as EventListener);
  return node;
}

/** A button that does something. */
export function button(
  label: string,
  onClick: () => void,
  attributes: Attributes = {},
): HTMLButtonElement {
  return listening(element('button', { type: 'button', ...attributes }, label), { click: onClick });
}

function fill<T extends Element>(node: T, attributes: Attributes, children: readonly Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false)
      node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(
    ...children.filter((child) => child !== null && child !== undefined && child !== false),
  );
  return node;
}

/**
 * Replaces the content of a place without the reader noticing: the focus and open parts are restored, and the place
 * stays scrolled where it was.
 *
 * Elements are recognized by `data-key`.
 */
export function replaceContent(place: HTMLElement, ...content: readonly Child[]): void {
  const { scrollTop } = place;
  const focused = place.contains(document.activeElement)
    ? keyOf(document.activeElement)
    : undefined;
  const open = new Map(
    [...place.querySelectorAll<HTMLDetailsElement>('details[data-key]')].map((details) => [
      keyOf(details),
      details.open,
    ]),
  );
  place.replaceChildren(
    ...content.filter((child) => child !== null && child !== undefined && child !== false),
  );
  for (const details of place.querySelectorAll<HTMLDetailsElement>('details[data-key]'))
    details.open = open.get(keyOf(details)) ?? details.open;
  if (focused !== undefined)
    [...place.querySelectorAll<HTMLElement>('[data-key]')]
      .find((node) => keyOf(node) === focused)
      ?.focus({ preventScroll: true });
  place.scrollTop = scrollTop;
}

function keyOf(node: Element | null): string | undefined {
  return node instanceof HTMLElement ? node.dataset['key'] : undefined;
}

/** Characters of a text that are shown before it is folded. */
const SHOWN = 600;
const KIB = 1024;

/** Shows a text of any length: the start of a long one, with a button for the rest. */
export function foldedText(text: string, key: string): HTMLElement {
  if (text.length <= SHOWN) return element('p', { class: 'prose' }, text);
  const paragraph = element('p', { class: 'prose' }, `${text.slice(0, SHOWN).trimEnd()} …`);
  const size =
    text.length < KIB
      ? `${text.length} characters`
      : `${(text.length / KIB).toFixed(1)} Ki characters`;
  const labels = { false: `Show all (${size})`, true: 'Show less' };
  const toggle = button(
    labels.false,
    () => {
      const open = toggle.getAttribute('aria-expanded') !== 'true';
      paragraph.textContent = open ? text : `${text.slice(0, SHOWN).trimEnd()} …`;
      toggle.setAttribute('aria-expanded', String(open));
      toggle.textContent = labels[`${open}`];
    },
    { class: 'quiet', 'aria-expanded': 'false', 'data-key': key },
  );
  return element('div', {}, paragraph, toggle);
}
