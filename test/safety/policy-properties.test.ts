import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DangerLevel } from '../../src/core/enums.js';
import { dangerRank } from '../../src/core/enum-order.js';
import type { ToolMetadataRegistry } from '../../src/index.js';
import type { Decision, PolicyMode } from '../../src/safety/calls.js';
import type { PolicyRule } from '../../src/safety/policy-rule.js';
import { SafetyPolicy } from '../../src/safety/safety-policy.js';
import { registryOf } from '../tool/sample-tools.js';
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

it('a tool that requires approval runs without approval only if a rule or the allow-list allows the call', () => {
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

/** Checks a mode, given by the policy or by the call. */
const inMode = (
  mode: PolicyMode,
  check: (decision: Decision, registry: ToolMetadataRegistry) => void,
) =>
  run(
    fc.property(
      anyTool,
      anyPolicy,
      anyContext,
      anyInput,
      fc.boolean(),
      (tool, options, context, input, byCall) => {
        const registry = registryOf(tool);
        const allow = options.allow.filter((each) => !each.includes('*') && each !== tool.name);
        const policy = new SafetyPolicy({
          registry,
          env: {},
          ...options,
          ...(mode === 'allow-list' && { allow }),
          mode: byCall ? options.mode : mode,
        });
        const call = { id: '1', name: tool.name, input };
        check(policy.decide(call, byCall ? { ...context, mode } : context), registry);
      },
    ),
  );

it('read-only mode denies every tool that can change something or whose arguments are dangerous', () =>
  inMode('read-only', ({ verdict, danger }, registry) => {
    if (registry.getWriteTools().size > 0 || dangerRank(danger) >= dangerRank(DangerLevel.HIGH))
      expect(verdict).toBe('deny');
  }));

it('unattended mode never asks for approval', () =>
  inMode('unattended', ({ verdict }) => expect(verdict).not.toBe('confirm')));

it("allow-list mode denies every tool that isn't on the list", () =>
  inMode('allow-list', ({ verdict }) => expect(verdict).toBe('deny')));

it("a call's mode never makes a decision less strict", () => {
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

it('a deny rule with touches never makes a decision less strict, wherever the rule is in the list', () => {
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

it('equal calls get equal, frozen decisions', () => {
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
