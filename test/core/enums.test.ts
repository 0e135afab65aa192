import { describe, expect, it } from 'vitest';
import {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  isToolError,
  Priority,
  SideEffect,
  Stage,
  ToolError,
} from '../../src/index.js';
import {
  concurrencyOf,
  conflictingCategories,
  costRank,
  dangerRank,
  isDangerous,
  isParallelizable,
  isWriting,
  PRIORITY_BOOST,
} from '../../src/core/enum-order.js';
import { issuesOf } from '../../src/core/errors.js';

describe('enums', () => {
  it('are frozen', () => {
    for (const each of [
      Priority,
      AccessMode,
      DangerLevel,
      ExecutionCategory,
      CostTier,
      SideEffect,
      Stage,
    ])
      expect(Object.isFrozen(each)).toBe(true);
  });

  it('danger levels and cost tiers are ranked from lowest to highest', () => {
    expect(Object.values(DangerLevel).map(dangerRank)).toEqual([0, 1, 2, 3, 4]);
    expect(Object.values(CostTier).map(costRank)).toEqual([0, 1, 2, 3]);
  });

  it("HIGH and CRITICAL danger require confirmation, but MEDIUM doesn't", () => {
    expect(Object.values(DangerLevel).filter(isDangerous)).toEqual(['high', 'critical']);
  });

  it('every access mode except readonly counts as writing', () => {
    expect(Object.values(AccessMode).filter(isWriting)).toEqual(['write', 'execute', 'mixed']);
  });

  it('higher priorities have a higher boost', () => {
    expect(PRIORITY_BOOST).toEqual({ 0: 0.3, 1: 0.2, 2: 0.1, 3: 0.05 });
  });
});

describe('conflicts between execution categories', () => {
  const all = Object.values(ExecutionCategory);

  it('are symmetric', () => {
    for (const a of all)
      for (const b of all)
        expect(conflictingCategories(a).includes(b), `${a} and ${b}`).toBe(
          conflictingCategories(b).includes(a),
        );
  });

  it('exist among write, execute, and mixed, and between mixed and every category', () => {
    const changing = ['write', 'execute', 'mixed'];
    for (const a of all) {
      for (const b of all) {
        const expected =
          a === 'mixed' || b === 'mixed' || (changing.includes(a) && changing.includes(b));
        expect(conflictingCategories(a).includes(b), `${a} and ${b}`).toBe(expected);
      }
    }
  });

  it('a tool that can change something never runs in parallel with tools of its own category', () => {
    for (const accessMode of Object.values(AccessMode).filter(isWriting)) {
      for (const executionCategory of all) {
        expect(
          isParallelizable({ accessMode, executionCategory }),
          `${accessMode}, ${executionCategory}`,
        ).toBe(false);
        expect(conflictingCategories(concurrencyOf({ accessMode, executionCategory }))).toEqual(
          expect.arrayContaining([...conflictingCategories(executionCategory)]),
        );
      }
    }
  });

  it('only readonly tools in the categories read_only, compute, and network run in parallel with their own category', () => {
    expect(
      all.filter((executionCategory) =>
        isParallelizable({ accessMode: 'readonly', executionCategory }),
      ),
    ).toEqual(['read_only', 'compute', 'network']);
  });
});

describe('ToolError', () => {
  it('has a code, details, and a cause', () => {
    const cause = new Error('why');
    const error = new ToolError('INVALID_ARGUMENT', 'Expected a', {
      details: { issues: [{ path: [], message: 'm' }] },
      cause,
    });
    expect(error).toBeInstanceOf(Error);
    expect([error.name, error.code, error.message, error.cause]).toEqual([
      'ToolError',
      'INVALID_ARGUMENT',
      'Expected a',
      cause,
    ]);
    expect(issuesOf(error)).toEqual([{ path: [], message: 'm' }]);
    expect(issuesOf(new ToolError('TIMEOUT', 'late'))).toEqual([]);
  });

  it('from another copy of the package is recognized by its code', () => {
    const foreign = Object.defineProperty({ code: 'TIMEOUT' }, Symbol.for('tooldex/error/v1'), {
      value: true,
    });
    expect(isToolError(foreign)).toBe(true);
    expect(isToolError(foreign, 'TIMEOUT')).toBe(true);
    expect(isToolError(foreign, 'ABORTED')).toBe(false);
  });

  it("isToolError returns false for values that aren't a ToolError", () => {
    const trap = new Proxy(
      {},
      {
        getOwnPropertyDescriptor: () => {
          throw new Error('trap');
        },
      },
    );
    for (const value of [
      undefined,
      null,
      'ToolError',
      new Error('x'),
      { code: 'TIMEOUT' },
      trap,
      Object.create(new ToolError('TIMEOUT', 'x')) as unknown,
    ])
      expect(isToolError(value)).toBe(false);
  });
});
