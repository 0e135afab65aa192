import { environment } from '../core/crypto.js';
import { z } from 'zod';
import { CostTier, DangerLevel } from '../core/enums.js';
import { costRank, dangerRank, isDangerous, isWriting } from '../core/enum-order.js';
import { anObject, checkOptions, once, withMethods } from '../core/options.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import {
  canChange,
  effectiveDanger,
  type EffectiveDanger,
  refusedByCheck,
  wrongContext,
} from './built-in-checks.js';
import { chainOf, hasLabels, sendsOutside } from './call-flow.js';
import {
  type CallContext,
  type Decision,
  type Policy,
  POLICY_MODES,
  type PolicyMode,
  type ToolCall,
} from './calls.js';
import { CompiledRule, type PolicyRule } from './policy-rule.js';
import { matchesPattern } from './name-pattern.js';

/** The options of a policy. */
export interface SafetyPolicyOptions {
  /** The registry in which the policy looks up tools. Tools that aren't registered are denied. */
  readonly registry: ToolMetadataRegistry;
  /**
   * The treatment of calls that no rule covers: ask for approval, deny changes, deny whatever needs
   * approval, or deny everything that isn't in `allow`.
   * @default 'default'
   */
  readonly mode?: PolicyMode;
  /**
   * Rules, tried in order after the built-in checks. The first matching rule decides.
   * @default none
   */
  readonly rules?: readonly PolicyRule[];
  /**
   * The tools that the `allow-list` mode allows; `*` matches any characters. Listed tools can run
   * without approval up to their own danger level. @default none
   */
  readonly allow?: readonly string[];
  /**
   * Additional levels of danger and cost from which calls need approval. Writes, calls with danger
   * `high` or above, and tools that require consent always need approval.
   * @default none
   */
  readonly confirmFrom?: { readonly danger?: DangerLevel; readonly cost?: CostTier };
  /**
   * The handling of calls that untrusted content may have caused. These checks run after
   * the rules, and rules can't override them.
   *
   * - `leak`: the conversation has read both untrusted content and private data, and the call sends
   *   data outside.
   * - `influenced`: the conversation has read untrusted content, and a rule or grant would let a
   *   write run without approval. Turn this check on for agents that write without supervision.
   * - `undeclared: 'strict'`: tools that don't declare `reads` and `sends` are assumed to read
   *   everything and to send data outside.
   *
   * @default { leak: 'confirm', influenced: 'off' }
   */
  readonly flows?: FlowOptions;
  /**
   * The environment in which the policy looks up the variables that a tool's `auth` requires.
   * @default process.env
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

type FlowOptions = {
  /**
   * The verdict on a call that sends data outside after the conversation has read both untrusted
   * content and private data.
   * @default 'confirm'
   */
  readonly leak?: FlowVerdict | undefined;
  /**
   * The verdict on a write that a rule or grant would allow after the conversation has read
   * untrusted content.
   * @default 'off'
   */
  readonly influenced?: FlowVerdict | undefined;
  /**
   * Assumes the worst about every tool that declares no flows.
   * @default only if the tool declares network access
   */
  readonly undeclared?: 'strict' | undefined;
};
/** A decision to which the call's danger is still added. */
type Ruling = Omit<Decision, 'danger'>;

type FlowVerdict = 'confirm' | 'deny' | 'off';

const flowVerdict = () => z.enum(['confirm', 'deny', 'off']).optional();
const optionsSchema = once(() =>
  z.strictObject({
    registry: withMethods<ToolMetadataRegistry>('a ToolMetadataRegistry', 'get', 'getWriteTools'),
    mode: z.enum(POLICY_MODES).optional(),
    rules: z.array(z.unknown()).optional(),
    allow: z.array(z.string()).optional(),
    confirmFrom: z
      .strictObject({ danger: z.enum(DangerLevel).optional(), cost: z.enum(CostTier).optional() })
      .optional(),
    flows: z
      .strictObject({
        leak: flowVerdict(),
        influenced: flowVerdict(),
        undeclared: z.literal('strict').optional(),
      })
      .optional(),
    env: anObject<Readonly<Record<string, string | undefined>>>('variables by name').optional(),
  }),
);

/**
 * Decides whether a call can run, based on a tool's metadata and the call's arguments: `allow`,
 * `confirm` (ask the user), or `deny`.
 *
 * The first step that reaches a decision wins:
 * 1. The tool must be known, and persona, credentials, scopes, flags and mode must allow the call.
 * Rules can't override these checks.
 * 2. The rules, in order.
 * 3. Writes, dangerous calls and tools that require consent need approval. Everything else may run.
 *
 * After these steps, `flows` can make the decision stricter. The policy never throws: it denies
 * calls that it can't evaluate.
 *
 * ```ts
 * import { AccessMode, defineTool, SafetyPolicy, ToolMetadataRegistry } from 'tooldex';
 * import { z } from 'zod';
 *
 * const registry = new ToolMetadataRegistry();
 * registry.register(defineTool({ name: 'rename', description: 'Renames a file', inputSchema: z.object({ to: z.string() }), accessMode: AccessMode.WRITE, execute: ({ to }) => to }));
 * const policy = new SafetyPolicy({ registry, rules: [{ verdict: 'allow', tools: 'rename', input: { to: 'draft-*' } }] });
 *
 * policy.decide({ id: '1', name: 'rename', input: { to: 'draft-2' } }).verdict; // → 'allow'
 * policy.decide({ id: '2', name: 'rename', input: { to: 'final' } }).verdict; // → 'confirm'
 * ```
 */
export class SafetyPolicy implements Policy {
  readonly #registry: ToolMetadataRegistry;
  readonly #mode: PolicyMode;
  readonly #rules: readonly CompiledRule[];
  readonly #allow: readonly string[];
  readonly #confirmFrom: {
    readonly danger?: DangerLevel | undefined;
    readonly cost?: CostTier | undefined;
  };
  /** The checks on what a conversation has read. */
  readonly flows: FlowOptions;
  readonly #env: Readonly<Record<string, string | undefined>>;

  /**
   * @throws ToolError `INVALID_ARGUMENT` listing every invalid option and rule, because a policy
   * with missing rules would be unsafe.
   */
  constructor(options: SafetyPolicyOptions) {
    const {
      registry,
      mode = 'default',
      rules = [],
      allow = [],
      confirmFrom = {},
      flows = {},
      env = environment(),
    } = checkOptions(optionsSchema, options, 'options of the policy');
    this.#registry = registry;
    this.#mode = mode;
    this.#rules = rules.map((rule, position) => new CompiledRule(rule as PolicyRule, position));
    this.#allow = allow;
    this.#confirmFrom = confirmFrom;
    this.flows = Object.freeze(flows);
    this.#env = env;
  }

  /**
   * Decides whether a call can run. Pass the parsed input, because `dangerFor` reads it.
   *
   * @param entry The tool that will run, if it comes from a registry other than the policy's. If
   * given, the policy evaluates this entry.
   */
  decide(call: ToolCall, context: CallContext = {}, entry?: ToolEntry): Decision {
    try {
      return Object.freeze(this.#decide(call, context, entry));
    } catch {
      // An error must not bypass the policy.
      return Object.freeze({
        verdict: 'deny',
        rule: 'policy-error',
        reason: "the call couldn't be evaluated",
        danger: DangerLevel.CRITICAL,
      });
    }
  }

  #decide(call: ToolCall, context: CallContext, running: ToolEntry | undefined): Decision {
    const registered = this.#registry.get(call.name);
    // Evaluates the tool that will run. This registry may have a different tool with that name.
    const entry = registered && (running ?? registered);
    if (entry === undefined)
      return {
        verdict: 'deny',
        rule: 'unknown-tool',
        reason: 'there is no tool with this name',
        danger: DangerLevel.CRITICAL,
      };
    const { input = {} } = call;
    const danger = effectiveDanger(entry, input);
    const asked = call.input === input ? call : { ...call, input };
    const { verdict, reason, rule } = this.#verdictOn(asked, entry, context, danger);
    return { verdict, reason, rule, danger: danger.level };
  }

  #verdictOn(
    call: ToolCall,
    entry: ToolEntry,
    context: CallContext,
    danger: EffectiveDanger,
  ): Ruling {
    const wrong = wrongContext(context);
    if (wrong !== undefined) return { verdict: 'deny', rule: 'invalid-context', reason: wrong };
    const modes = context.mode === undefined ? [this.#mode] : [this.#mode, context.mode];
    const own = { input: call.input, modes, allow: this.#allow, env: this.#env };
    const refused = refusedByCheck({ entry, danger, context, ...own });
    if (refused !== undefined) return { verdict: 'deny', ...refused };
    const open = this.#byFlow(entry, context, this.#byRules(call, entry, context, danger));
    return open.verdict === 'confirm' && modes.includes('unattended')
      ? {
          verdict: 'deny',
          rule: 'unattended',
          reason: `nobody can approve calls in unattended mode, and this call needs approval: ${open.reason}`,
        }
      : open;
  }

  #byRules(
    call: ToolCall,
    entry: ToolEntry,
    context: CallContext,
    danger: EffectiveDanger,
  ): Ruling {
    let doubtful: Ruling | undefined;
    let allowsUpTo: DangerLevel | undefined;
    for (const rule of this.#rules) {
      const { name, verdict, reason } = rule;
      const match = rule.match({ call, entry, context, danger: danger.level });
      if (match.meets === false) allowsUpTo ??= match.allowsUpTo;
      else if (match.meets === 'possibly')
        doubtful ??= { verdict: 'confirm', rule: name, reason: `${reason}, and ${match.doubt}` };
      // A rule that possibly matches must not prevent a later rule from denying the call.
      else if (doubtful === undefined || verdict === 'deny') return { verdict, rule: name, reason };
    }
    if (doubtful !== undefined) return doubtful;
    // Uses only the policy's own mode.
    // The mode of a call can restrict what is allowed, but can't approve a call.
    const listed =
      this.#mode === 'allow-list' &&
      this.#allow.some((pattern) => matchesPattern(pattern, entry.name));
    return listed && danger.raised === undefined
      ? { verdict: 'allow', rule: 'allow-list', reason: `${entry.name} is on the allowlist` }
      : this.#byAxes(entry, danger, allowsUpTo);
  }

  /** Tightens a decision based on what the conversation has read. */
  #byFlow(entry: ToolEntry, context: CallContext, open: Ruling): Ruling {
    const { flow } = context;
    if (open.verdict !== 'deny' && this.#isBlindTo(entry, context))
      return {
        ...open,
        verdict: 'deny',
        rule: 'flow-unknown',
        reason: `the policy checks what a conversation has read before ${entry.name} runs, and this call has no conversation: the program must pass a conversationId`,
      };
    if (flow?.untrusted === undefined || open.verdict === 'deny') return open;
    const { leak = 'confirm', influenced = 'off', undeclared } = this.flows;
    const leaks = flow.private !== undefined && sendsOutside(entry, undeclared === 'strict');
    const isRefused =
      influenced === 'deny' && isWriting(entry.accessMode) && open.verdict === 'allow';
    if (leaks && leak !== 'off' && !isRefused)
      return { ...open, verdict: leak, rule: 'flow-leak', reason: chainOf(entry, flow, true) };
    if (influenced === 'off' || !isWriting(entry.accessMode)) return open;
    const reason = chainOf(entry, flow, false);
    // Sets another rule name, so that a grant for the original question doesn't apply here.
    return open.verdict === 'confirm'
      ? { ...open, rule: 'flow-influenced', reason: `${open.reason}; ${reason}` }
      : { ...open, verdict: influenced, rule: 'flow-influenced', reason };
  }

  /**
   * Returns true if the program asked for a check on what a conversation has read, and the call of a
   * tool with labels names no conversation.
   */
  #isBlindTo(entry: ToolEntry, { conversationId, flow }: CallContext): boolean {
    const { leak = 'off', influenced = 'off', undeclared } = this.flows;
    return (
      (leak !== 'off' || influenced !== 'off') &&
      conversationId === undefined &&
      flow === undefined &&
      hasLabels(entry, undeclared === 'strict')
    );
  }

  /** @param allowsUpTo The danger up to which a rule would have allowed the call. */
  #byAxes(entry: ToolEntry, danger: EffectiveDanger, allowsUpTo: DangerLevel | undefined): Ruling {
    const { accessMode, requiresConsent } = entry;
    const { danger: dangerFrom, cost: costFrom } = this.#confirmFrom;
    const dangerous =
      isDangerous(danger.level) ||
      (dangerFrom !== undefined && dangerRank(danger.level) >= dangerRank(dangerFrom));
    const costly = costFrom !== undefined && costRank(entry.costTier) >= costRank(costFrom);
    const reasons: string[] = [];
    if (isWriting(accessMode)) reasons.push(`it ${canChange(entry)}`);
    if (dangerous) reasons.push(danger.raised ?? `its danger is ${danger.level}`);
    if (requiresConsent) reasons.push('it requires consent');
    if (costly) reasons.push(`its cost is ${entry.costTier}`);
    if (reasons.length === 0)
      return {
        verdict: 'allow',
        rule: 'axes',
        reason: `${entry.name} only reads (danger ${danger.level})`,
      };
    if (allowsUpTo !== undefined) reasons.push(`a rule allows it only up to danger ${allowsUpTo}`);
    return { verdict: 'confirm', rule: 'axes', reason: `${entry.name}: ${reasons.join('; ')}` };
  }
}
