import fc from 'fast-check';
import { AccessMode, CostTier, DangerLevel } from '../../src/core/enums.js';
import { POLICY_MODES } from '../../src/safety/calls.js';
import { SafetyPolicy, type SafetyPolicyOptions } from '../../src/safety/safety-policy.js';
import { NAMES, toolOptions } from '../registry/arbitrary-tools.js';
import { registryOf, type LooseOptions } from '../tool/sample-tools.js';

/** Returns a policy for tools with these options. */
export function policyOver(
  tools: readonly LooseOptions[],
  options: Omit<SafetyPolicyOptions, 'registry'> = {},
): SafetyPolicy {
  return new SafetyPolicy({ registry: registryOf(...tools), env: {}, ...options });
}

/** Returns the decision about a call to the tool `sample` with these options. */
export function decisionOn(
  tool: LooseOptions,
  input: unknown = {},
  options: Omit<SafetyPolicyOptions, 'registry'> = {},
  context = {},
) {
  return policyOver([tool], options).decide(
    { id: '1', name: (tool['name'] as string | undefined) ?? 'sample', input },
    context,
  );
}

export const STRICTNESS = Object.freeze({ allow: 0, confirm: 1, deny: 2 });

export const anyLevel = fc.constantFrom(...Object.values(DangerLevel));
export const anyMode = fc.constantFrom(...POLICY_MODES);
export const anyConfirmFrom = fc.record(
  { danger: anyLevel, cost: fc.constantFrom(...Object.values(CostTier)) },
  { requiredKeys: [] },
);

/** `dangerFor` functions that return a valid, low, or invalid level, or fail. */
const anyDangerFor = fc.option(
  fc.oneof(
    anyLevel.map((level) => () => level),
    fc.constantFrom(
      () => 'rubbish',
      () => undefined,
      () => Promise.reject(new Error('no')),
      () => {
        throw new Error('no');
      },
    ),
  ),
  { nil: undefined },
);

/** `conflictKeys` functions that return valid keys in both forms or invalid keys, or fail. */
const anyKeys = fc.array(fc.constantFrom('file:src/a', 'file:src/', 'file:b', 'git:', 'src'), {
  maxLength: 2,
});
const anyConflictKeys = fc.option(
  fc.oneof(
    anyKeys.map((keys) => () => keys),
    fc.record({ reads: anyKeys, writes: anyKeys }, { requiredKeys: [] }).map((keys) => () => keys),
    fc.constantFrom(
      () => 'rubbish',
      () => ({ write: [] }),
      () => Promise.reject(new Error('no')),
      () => {
        throw new Error('no');
      },
    ),
  ),
  { nil: undefined },
);

/** Any tool options, except personas and credentials, which can deny a call regardless of the rules. */
export const anyTool: fc.Arbitrary<LooseOptions & { readonly name: string }> = fc
  .tuple(toolOptions, anyDangerFor, anyConflictKeys)
  .map(([options, dangerFor, conflictKeys]) => ({
    ...options,
    aliases:
      options['aliases'] === undefined
        ? []
        : (options['aliases'] as string[]).filter((alias) => alias !== options.name),
    ...(dangerFor && { dangerFor }),
    ...(conflictKeys && { conflictKeys }),
  }));

const anyName = fc.constantFrom(...NAMES, '*', 'a*', '*a', 'nothing');
export const anyNames = fc.array(anyName, { maxLength: 3 });

const anyTouched = fc.constantFrom(
  'write:*',
  'write:src/*',
  'write:src/',
  'write:file:src/a',
  'read:*',
  'read:src/',
  'read:*a',
  'write:*a',
);

/** Any rule that a policy accepts. */
export const anyRule = fc
  .record(
    {
      verdict: fc.constantFrom('allow' as const, 'confirm' as const, 'deny' as const),
      tools: fc.oneof(anyName, anyNames),
      filter: fc.record(
        { accessMode: fc.constantFrom(...Object.values(AccessMode)), maxDanger: anyLevel },
        { requiredKeys: [] },
      ),
      minDanger: anyLevel,
      touches: fc.oneof(anyTouched, fc.array(anyTouched, { maxLength: 2 })),
      principals: fc.constantFrom('ada', '*', 'bob*'),
      upTo: anyLevel,
      input: fc.constantFrom({ path: 'src/*' }, { path: ['a', null] }),
      when: fc.constantFrom(
        () => true,
        () => false,
        () => {
          throw new Error('no');
        },
      ),
    },
    { requiredKeys: ['verdict'] },
  )
  .map(({ upTo, ...rule }) =>
    rule.verdict === 'allow' && upTo !== undefined ? { ...rule, upTo } : rule,
  );
export const anyRules = fc.array(anyRule, { maxLength: 4 });
export const anyContext = fc.record(
  {
    principal: fc.constantFrom('ada', 'bob', ''),
    persona: fc.constantFrom('planner', ''),
    mode: anyMode,
  },
  { requiredKeys: [] },
);
export const anyInput = fc.oneof(
  fc.constantFrom({}, { path: 'src/a' }, { path: 'a' }, { path: null }),
  fc.jsonValue(),
);
