import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CostTier, DangerLevel } from '../../src/core/enums.js';
import { dangerRank } from '../../src/core/enum-order.js';
import type { PolicyRule } from '../../src/safety/policy-rule.js';
import { SafetyPolicy } from '../../src/safety/safety-policy.js';
import { acceptedEntry, registryOf, type LooseOptions } from '../tool/sample-tools.js';
import {
  anyConfirmFrom,
  anyContext,
  anyInput,
  anyMode,
  anyNames,
  anyRules,
  anyTool,
  policyOver,
  STRICTNESS,
} from './policies.js';

const run = (property: fc.IRawProperty<unknown>) =>
  fc.assert(property as fc.IProperty<unknown>, { numRuns: 250 });
const anyPolicy = fc.record({
  mode: anyMode,
  rules: anyRules,
  allow: anyNames,
  confirmFrom: anyConfirmFrom,
});

describe('whatever a tool declares, and whatever the rules say', () => {
  it('a tool that requires approval runs only by a rule or the allow-list', () => {
    run(
      fc.property(anyTool, anyPolicy, anyContext, anyInput, (tool, options, context, input) => {
        const registry = registryOf(tool);
        const decision = new SafetyPolicy({ registry, env: {}, ...options }).decide(
          { id: '1', name: tool.name, input },
          context,
        );
        if (!registry.getToolsRequiringApproval().has(tool.name) || decision.verdict !== 'allow')
          return;
        expect(decision.rule).toMatch(/^(?:rule \d+|allow-list)$/);
        if (decision.rule === 'allow-list') expect(options.mode).toBe('allow-list');
        else expect(options.rules[Number(decision.rule.slice(5)) - 1]?.verdict).toBe('allow');
      }),
    );
  });

  it('without rules and lists it does not run, in no mode', () => {
    run(
      fc.property(anyTool, anyMode, anyContext, anyInput, (tool, mode, context, input) => {
        const registry = registryOf(tool);
        const { verdict } = new SafetyPolicy({ registry, env: {}, mode }).decide(
          { id: '1', name: tool.name, input },
          context,
        );
        if (registry.getToolsRequiringApproval().has(tool.name)) expect(verdict).not.toBe('allow');
      }),
    );
  });

  it('read-only lets nothing through that can change something or is dangerous for these arguments', () => {
    run(
      fc.property(
        anyTool,
        anyPolicy,
        anyContext,
        anyInput,
        fc.boolean(),
        (tool, options, context, input, byContext) => {
          const registry = registryOf(tool);
          const policy = new SafetyPolicy({
            registry,
            env: {},
            ...options,
            mode: byContext ? options.mode : 'read-only',
          });
          const decision = policy.decide(
            { id: '1', name: tool.name, input },
            byContext ? { ...context, mode: 'read-only' } : context,
          );
          if (
            registry.getWriteTools().has(tool.name) ||
            dangerRank(decision.danger) >= dangerRank(DangerLevel.HIGH)
          )
            expect(decision.verdict).toBe('deny');
        },
      ),
    );
  });

  it('unattended never asks', () => {
    run(
      fc.property(
        anyTool,
        anyPolicy,
        anyContext,
        anyInput,
        fc.boolean(),
        (tool, options, context, input, byContext) => {
          const policy = policyOver([tool], {
            ...options,
            mode: byContext ? options.mode : 'unattended',
          });
          expect(
            policy.decide(
              { id: '1', name: tool.name, input },
              byContext ? { ...context, mode: 'unattended' } : context,
            ).verdict,
          ).not.toBe('confirm');
        },
      ),
    );
  });

  it('an allow-list refuses all tools that are not on it', () => {
    run(
      fc.property(
        anyTool,
        anyPolicy,
        anyContext,
        anyInput,
        fc.boolean(),
        (tool, options, context, input, byContext) => {
          const allow = options.allow.filter(
            (pattern) => !pattern.includes('*') && pattern !== tool.name,
          );
          const policy = policyOver([tool], {
            ...options,
            allow,
            mode: byContext ? options.mode : 'allow-list',
          });
          expect(
            policy.decide(
              { id: '1', name: tool.name, input },
              byContext ? { ...context, mode: 'allow-list' } : context,
            ).verdict,
          ).toBe('deny');
        },
      ),
    );
  });

  it("a call's mode only narrows", () => {
    run(
      fc.property(
        anyTool,
        anyPolicy,
        anyContext,
        anyInput,
        anyMode,
        (tool, options, { mode: _, ...context }, input, mode) => {
          const policy = policyOver([tool], options);
          const call = { id: '1', name: tool.name, input };
          expect(
            STRICTNESS[policy.decide(call, { ...context, mode }).verdict],
          ).toBeGreaterThanOrEqual(STRICTNESS[policy.decide(call, context).verdict]);
        },
      ),
    );
  });

  it('a rule that denies what a call touches makes no decision looser, wherever it stands', () => {
    const denying = fc
      .constantFrom('write:*', 'write:src/', 'write:*a', 'read:src/*', 'read:*')
      .map((touches): PolicyRule => ({ verdict: 'deny', touches }));
    run(
      fc.property(
        anyTool,
        anyPolicy,
        denying,
        fc.nat(4),
        anyContext,
        anyInput,
        (tool, options, rule, at, context, input) => {
          const call = { id: '1', name: tool.name, input };
          const rules: readonly PolicyRule[] = [
            ...options.rules.slice(0, at),
            rule,
            ...options.rules.slice(at),
          ];
          const more = policyOver([tool], { ...options, rules }).decide(call, context);
          expect(STRICTNESS[more.verdict]).toBeGreaterThanOrEqual(
            STRICTNESS[policyOver([tool], options).decide(call, context).verdict],
          );
        },
      ),
    );
  });

  it("the danger is never below the tool's own", () => {
    run(
      fc.property(anyTool, anyPolicy, anyContext, anyInput, (tool, options, context, input) => {
        const registry = registryOf(tool);
        const { danger } = new SafetyPolicy({ registry, env: {}, ...options }).decide(
          { id: '1', name: tool.name, input },
          context,
        );
        expect(dangerRank(danger)).toBeGreaterThanOrEqual(
          dangerRank(registry.require(tool.name).dangerLevel),
        );
      }),
    );
  });

  it('equal calls get equal decisions, and frozen ones', () => {
    run(
      fc.property(anyTool, anyPolicy, anyContext, anyInput, (tool, options, context, input) => {
        const policy = policyOver([tool], options);
        const call = { id: '1', name: tool.name, input };
        const first = policy.decide(call, context);
        expect(Object.isFrozen(first)).toBe(true);
        expect(
          policyOver([tool], options).decide(structuredClone(call), structuredClone(context)),
        ).toEqual(first);
      }),
    );
  });
});

const TIGHTER: readonly LooseOptions[] = [
  ...['write', 'execute', 'mixed'].map((accessMode) => ({
    accessMode,
    executionCategory: undefined,
  })),
  ...Object.values(DangerLevel).map((dangerLevel) => ({ dangerLevel })),
  ...Object.values(CostTier).map((costTier) => ({ costTier })),
  { requiresConsent: true },
  { dangerFor: () => DangerLevel.CRITICAL },
  { personaAllowlist: ['nobody'] },
  { auth: { required: true, env: { MISSING_KEY: 'required' } } },
  { auth: { required: true, scopes: ['admin'] } },
];
const RANKED = ['safe', 'low', 'medium', 'high', 'critical', 'free', 'low', 'medium', 'high'];

describe('a tool that declares itself more dangerous', () => {
  it('is never allowed more, by a policy without rules or with one of explicit bounds', () => {
    run(
      fc.property(
        anyTool,
        anyMode,
        anyConfirmFrom,
        anyContext,
        anyInput,
        fc.constantFrom(...TIGHTER),
        fc.option(fc.constantFrom(...Object.values(DangerLevel)), { nil: undefined }),
        (tool, mode, confirmFrom, context, input, tighter, upTo) => {
          const looseEntry = acceptedEntry(tool);
          const tightEntry = acceptedEntry({ ...tool, ...tighter });
          fc.pre(looseEntry !== undefined && tightEntry !== undefined);
          // A level that is lower than before is no tightening.
          if (tighter['dangerLevel'] !== undefined)
            fc.pre(dangerRank(tightEntry.dangerLevel) >= dangerRank(looseEntry.dangerLevel));
          if (tighter['costTier'] !== undefined)
            fc.pre(
              RANKED.lastIndexOf(tightEntry.costTier) >= RANKED.lastIndexOf(looseEntry.costTier),
            );
          if (tighter['accessMode'] !== undefined)
            fc.pre(
              dangerRank(tightEntry.dangerLevel) >= dangerRank(looseEntry.dangerLevel) &&
                RANKED.lastIndexOf(tightEntry.costTier) >= RANKED.lastIndexOf(looseEntry.costTier),
            );
          const options = {
            mode,
            confirmFrom,
            allow: [],
            rules: upTo === undefined ? [] : [{ verdict: 'allow' as const, upTo }],
          };
          const call = { id: '1', name: tool.name, input };
          expect(
            STRICTNESS[
              policyOver([{ ...tool, ...tighter }], options).decide(call, context).verdict
            ],
          ).toBeGreaterThanOrEqual(
            STRICTNESS[policyOver([tool], options).decide(call, context).verdict],
          );
        },
      ),
    );
  });
});

describe('a tool that declares nothing', () => {
  it('is never allowed by itself', () => {
    for (const mode of ['default', 'read-only', 'unattended', 'allow-list'] as const) {
      expect(
        policyOver([{ name: 'bare' }], { mode }).decide({ id: '1', name: 'bare', input: {} })
          .verdict,
      ).not.toBe('allow');
    }
  });
});
