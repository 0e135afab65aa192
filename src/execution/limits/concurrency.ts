import { onAbort } from '../../core/listeners.js';

interface Waiting {
  /** How many may be in at the same time for this one to enter. */
  readonly limit: number;
  readonly enter: () => void;
}

/** Counts who is in; who finds it full waits, first come, first served. */
class Places {
  #taken = 0;
  readonly #queue = new Set<Waiting>();

  /** Whether nobody is in or waits. */
  get empty(): boolean {
    return this.#taken === 0 && this.#queue.size === 0;
  }

  /** Whether there was a place below the limit; then it is taken. */
  tryTake(limit: number): boolean {
    if (this.#taken >= limit || this.#queue.size > 0) return false;
    this.#taken++;
    return true;
  }

  /** Resolves to whether a place was got: not when the signal fires before. */
  async take(limit: number, signal: AbortSignal | undefined): Promise<boolean> {
    if (this.tryTake(limit)) return true;
    if (signal?.aborted === true) return false;
    return new Promise((resolve) => {
      const leave = () => {
        this.#queue.delete(waiting);
        resolve(false);
        this.#admit(); // Those behind may have been held up by this one's lower limit.
      };
      const stopListening = onAbort(signal, leave);
      const enter = () => {
        stopListening();
        resolve(true);
      };
      const waiting = { limit, enter };
      this.#queue.add(waiting);
    });
  }

  giveBack(): void {
    this.#taken--;
    this.#admit();
  }

  #admit(): void {
    for (const next of this.#queue) {
      if (this.#taken >= next.limit) return;
      this.#queue.delete(next);
      this.#taken++;
      next.enter();
    }
  }
}

/** Gives a place back: the one among all calls, and the one of the tool. */
export interface LeavePlace {
  readonly leaveAll: () => void;
  readonly leaveTool: () => void;
}

/** How many calls run at the same time: in all, and of each tool. */
export class Concurrency {
  readonly #all = new Places();
  readonly #total: number;
  readonly #perTool: number;
  readonly #tools = new Map<string, Places>();

  constructor(total: number, perTool: number) {
    this.#total = total;
    this.#perTool = perTool;
  }

  /** A place, if there is one now. @param alone whether the tool may not run beside itself. */
  tryEnter(toolName: string, alone: boolean): LeavePlace | undefined {
    const tool = this.#placesOf(toolName);
    if (!tool.tryTake(this.#limitOf(alone))) return undefined;
    if (this.#all.tryTake(this.#total)) return this.#placeIn(toolName, tool);
    this.#leave(toolName, tool);
    return undefined;
  }

  /**
   * Waits for a place; `undefined` when the signal fires before.
   *
   * The tool's own place is waited for first, so that calls that wait for their tool hold up no other tool.
   */
  async enter(toolName: string, alone: boolean, signal: AbortSignal | undefined): Promise<LeavePlace | undefined> {
    const tool = this.#placesOf(toolName);
    if (!(await tool.take(this.#limitOf(alone), signal))) {
      this.#forgetIfEmpty(toolName, tool);
      return undefined;
    }
    if (await this.#all.take(this.#total, signal)) return this.#placeIn(toolName, tool);
    this.#leave(toolName, tool);
    return undefined;
  }

  #limitOf(alone: boolean): number {
    return alone ? 1 : this.#perTool;
  }

  #placesOf(toolName: string): Places {
    const places = this.#tools.get(toolName) ?? new Places();
    this.#tools.set(toolName, places);
    return places;
  }

  #placeIn(toolName: string, tool: Places): LeavePlace {
    return { leaveAll: () => this.#all.giveBack(), leaveTool: () => this.#leave(toolName, tool) };
  }

  #leave(toolName: string, tool: Places): void {
    tool.giveBack();
    this.#forgetIfEmpty(toolName, tool);
  }

  #forgetIfEmpty(toolName: string, tool: Places): void {
    if (tool.empty && this.#tools.get(toolName) === tool) this.#tools.delete(toolName);
  }
}
