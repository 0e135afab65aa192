export type Child = Node | string | null | undefined | false;
export type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;
export type Handlers = { readonly [Name in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Name]) => void };

const SVG = 'http://www.w3.org/2000/svg';

/**
 * Makes an element with attributes and children. Strings become text and never markup.
 *
 * `null`, `undefined` and `false` leave an attribute or child out; `true` sets an attribute without a value.
 */
export function element<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, attributes: Attributes = {}, ...children: readonly Child[]): HTMLElementTagNameMap[Tag] {
  return fill(document.createElement(tag), attributes, children);
}

/** Makes an element of a drawing in the same way. */
export function svgElement<Tag extends keyof SVGElementTagNameMap>(tag: Tag, attributes: Attributes = {}, ...children: readonly Child[]): SVGElementTagNameMap[Tag] {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Adds listeners to an element and returns it. */
export function listening<T extends HTMLElement>(node: T, handlers: Handlers): T {
  for (const [name, handler] of Object.entries(handlers)) node.addEventListener(name, handler as EventListener);
  return node;
}

/** A button that does something. */
export function button(label: string, onClick: () => void, attributes: Attributes = {}): HTMLButtonElement {
  return listening(element('button', { type: 'button', ...attributes }, label), { click: onClick });
}

function fill<T extends Element>(node: T, attributes: Attributes, children: readonly Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}
