import { compareText } from '../../core/plain-data.js';
import type { Pin } from './pin.js';

/** Pins by server and by the tool's name there: in maps, because both names come from outside. */
export class PinTable {
  readonly #servers = new Map<string, Map<string, Pin>>();

  get size(): number {
    return [...this.#servers.values()].reduce((sum, tools) => sum + tools.size, 0);
  }

  countOf(server: string): number {
    return this.#servers.get(server)?.size ?? 0;
  }

  get(server: string, tool: string): Pin | undefined {
    return this.#servers.get(server)?.get(tool);
  }

  set(server: string, tool: string, pin: Pin): void {
    const tools = this.#servers.get(server) ?? new Map<string, Pin>();
    this.#servers.set(server, tools.set(tool, pin));
  }

  delete(server: string, tool: string): boolean {
    const tools = this.#servers.get(server);
    const had = tools?.delete(tool) === true;
    if (tools?.size === 0) this.#servers.delete(server);
    return had;
  }

  /** All pins, by server and then by tool. */
  *entries(): IterableIterator<readonly [server: string, tool: string, pin: Pin]> {
    for (const [server, tools] of sorted(this.#servers)) for (const [tool, pin] of sorted(tools)) yield [server, tool, pin];
  }
}

function sorted<T>(map: ReadonlyMap<string, T>): (readonly [string, T])[] {
  return [...map].sort(([a], [b]) => compareText(a, b));
}
