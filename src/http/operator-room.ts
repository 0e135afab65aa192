import type { CapabilityRegistry } from '../capability/capability-registry.js';
import type { Clock } from '../core/clock.js';
import type { Role } from '../host/request-guard.js';
import { OperatorDesk } from '../safety/operator-desk.js';
import { CallTotals } from './metrics.js';
import type { OperatorSettings } from './operator-options.js';

/** Maximum number of changes to tools that are remembered. */
const MOST_CHANGES = 100;

/** The actions that a token allows, in addition to viewing. */
export type Allowed = Readonly<Record<'approve' | 'run', boolean>>;

/** The things that the operators' routes work with, and what the server has counted for them. */
export class OperatorRoom {
  readonly settings: OperatorSettings;
  /** Answers waiting calls. `undefined` if the server doesn't know the approval key. */
  readonly desk: OperatorDesk | undefined;
  /** The changes to tools since the server started, newest first. */
  readonly changed: {
    readonly name: string;
    readonly persona: string | null;
    readonly change: string;
    readonly at: number;
  }[] = [];
  readonly totals = new CallTotals();
  readonly #clock: Clock;

  constructor(settings: OperatorSettings, capabilities: CapabilityRegistry, clock: Clock) {
    const { store, approvalKey, onAction } = settings;
    this.settings = settings;
    this.desk = approvalKey && new OperatorDesk(store, approvalKey, onAction);
    this.#clock = clock;
    capabilities.onChange((change) => this.#noteChange(change));
  }

  /** True if this server lets operators do this. */
  canDo(role: Role): boolean {
    const { allowApprove, executor } = this.settings;
    if (role === 'approve') return this.desk !== undefined && allowApprove;
    return role === 'view' || executor !== undefined;
  }

  #noteChange({ added, edited, removed }: CatalogueChange): void {
    const at = this.#clock.now();
    for (const [change, items] of Object.entries({ added, edited, removed }))
      for (const { kind, name, owner: persona } of items)
        if (kind === 'tool') this.changed.unshift({ name, persona, change, at });
    this.changed.splice(MOST_CHANGES);
  }
}

type CatalogueChange = Parameters<Parameters<CapabilityRegistry['onChange']>[0]>[0];
