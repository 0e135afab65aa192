import { describe, expect, it } from 'vitest';
import type { Effect } from '../../../src/audit/effect.js';
import {
  applyBaseline,
  newLies,
  readBaseline,
  writeBaseline,
} from '../../../src/audit/judge/baseline.js';
import { judgeTool } from '../../../src/audit/judge/judge-tool.js';

const write = (call: string, at: string): Effect => ({
  kind: 'fs-write',
  access: 'write',
  destructive: true,
  idempotent: true,
  call,
  certainty: 'does',
  at,
  via: [],
});
const liar = (name: string, ...effects: readonly Effect[]) =>
  judgeTool({ readOnly: true }, { name, handler: 'a.ts:1', effects, unknowns: [] });
const save = liar('save', write('fs.writeFile', 'a.ts:9'));

describe('audit baselines', () => {
  it('a baseline covers only the lies that it was created for, even after the code moves to other lines', () => {
    const known = readBaseline(JSON.parse(writeBaseline([save])));
    const lies = (...tools: readonly ReturnType<typeof liar>[]) =>
      newLies(applyBaseline(tools, known).tools).map(({ name }) => name);
    expect(lies(save)).toEqual([]);
    expect(lies(liar('save', write('fs.writeFile', 'elsewhere.ts:100')))).toEqual([]);
    expect(lies(liar('save', write('fs.writeFile', 'a.ts:9'), write('fs.rm', 'a.ts:10')))).toEqual([
      'save',
    ]);
    expect(lies(liar('other', write('fs.writeFile', 'a.ts:9')))).toEqual(['other']);
  });

  it("the text of a baseline doesn't depend on the order of the lies", () => {
    const other = liar('other', write('fs.rm', 'a.ts:1'), write('fs.rm', 'b.ts:1'));
    expect(writeBaseline([save, other])).toBe(writeBaseline([other, save]));
    expect(JSON.parse(writeBaseline([other]))).toEqual({
      version: 1,
      lies: [{ tool: 'other', axis: 'readOnlyHint', kind: 'fs-write', call: 'fs.rm' }],
    });
  });

  it('lies in the baseline keep their verdict, and baseline entries that no longer apply are reported', () => {
    const known = readBaseline({
      version: 1,
      lies: [
        { tool: 'save', axis: 'readOnlyHint', kind: 'fs-write', call: 'fs.writeFile' },
        { tool: 'gone', axis: 'readOnlyHint', kind: 'fs-write', call: 'fs.rm' },
      ],
    });
    const { tools, gone } = applyBaseline([save], known);
    expect([
      tools[0]!.verdict,
      tools[0]!.findings.map((finding) => finding.known),
      gone.map(({ tool }) => tool),
    ]).toEqual(['lies', [true], ['gone']]);
  });

  it.each([
    ['an unknown version', { version: 2, lies: [] }],
    ['a list at the top level', []],
    ['a lie without a tool', { version: 1, lies: [{ axis: 'a', kind: 'b', call: 'c' }] }],
    ['an unknown key', { version: 1, lies: [], more: 1 }],
  ])('a baseline with %s is rejected', (_, data) => {
    expect(() => readBaseline(data)).toThrow(
      'This is not a baseline written by tooldex audit --update-baseline',
    );
  });
});
