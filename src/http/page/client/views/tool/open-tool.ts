import type { Api } from '../../data/api.js';
import { Latest } from '../../data/latest.js';
import type { WireToolDetail } from '../../data/wire.js';
import { element } from '../../dom/element.js';
import { replaceContent } from '../../dom/replace-content.js';
import type { Route } from '../../state/route.js';
import { keyOfTool } from '../../state/select-rows.js';
import { detailHead, toolView } from './tool-view.js';

/** The interval at which a visible open tool is requested again: its health changes without the catalogue changing. */
const REFRESH_MS = 10_000;

/** The panel with the tool that is open. */
export class OpenTool {
  readonly #panel: HTMLElement;
  readonly #api: Api;
  readonly #onAsk: (query: string) => void;
  readonly #onClose: () => void;
  readonly #latest = new Latest();
  #open: { readonly name: string; readonly owner: string | null } | undefined;
  /** The tool as it was last shown; it is not redrawn (which would lose a selection) while it is the same. */
  #shown = '';

  constructor(panel: HTMLElement, api: Api, onAsk: (query: string) => void, onClose: () => void) {
    this.#panel = panel;
    this.#api = api;
    this.#onAsk = onAsk;
    this.#onClose = onClose;
    setInterval(() => {
      if (!document.hidden) this.refresh();
    }, REFRESH_MS);
  }

  /** Opens the route's tool, or closes the panel if there is none. */
  follow(route: Route | null): void {
    const wanted = route?.name == null ? undefined : { name: route.name, owner: route.owner };
    const isSame = wanted !== undefined && this.#open !== undefined && keyOfTool(wanted.name, wanted.owner) === keyOfTool(this.#open.name, this.#open.owner);
    this.#panel.hidden = wanted === undefined;
    if (isSame) return;
    this.#open = wanted;
    this.#shown = '';
    this.#latest.cancel();
    if (wanted === undefined) return this.#panel.replaceChildren();
    this.#panel.setAttribute('aria-label', `Tool ${wanted.name}`);
    this.#panel.replaceChildren(detailHead(wanted.name, this.#onClose), element('p', { class: 'muted' }, 'Loading …'));
    this.#panel.scrollTop = 0;
    this.#panel.querySelector<HTMLElement>('h2')?.focus({ preventScroll: true });
    this.refresh();
  }

  /** Asks for the open tool again. */
  refresh(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#latest.ask(
      (signal) => this.#api.tool(open.name, open.owner, signal),
      (tool) => this.#show(tool),
      (error) => this.#showProblem(open.name, error instanceof Error ? error.message : String(error)),
    );
  }

  #show(tool: WireToolDetail): void {
    const text = JSON.stringify(tool);
    if (text === this.#shown) return;
    this.#shown = text;
    replaceContent(this.#panel, ...toolView(tool, this.#onAsk, this.#onClose));
  }

  #showProblem(name: string, problem: string): void {
    this.#shown = '';
    replaceContent(this.#panel, detailHead(name, this.#onClose), element('p', { class: 'problem', role: 'alert' }, problem));
  }
}
