import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { auditFolder } from '../../src/audit/judge/audit-tools.js';
import type { ToolAudit } from '../../src/audit/judge/judge-tool.js';
import { folderOf, lint } from './programs.js';

const OWN_CODE = resolve(import.meta.dirname, '../../../shared/data/own-code');
const isThere = existsSync(OWN_CODE);
if (!isThere) console.warn('test/audit/own-code.test.ts skips: ../shared/data/own-code is absent');

interface Labels {
  readonly liars: readonly string[];
  readonly otherLies: Readonly<Record<string, string>>;
}

/** Copies the labelled tools, without the types of the packages that they use. */
function ownCode(): { readonly root: string; readonly labels: Labels } {
  const root = folderOf({});
  cpSync(OWN_CODE, root, { recursive: true });
  mkdirSync(join(root, 'node_modules/@acme'));
  symlinkSync(join(root, 'packages/core'), join(root, 'node_modules/@acme/core'));
  symlinkSync(
    resolve(import.meta.dirname, '../../node_modules/zod'),
    join(root, 'node_modules/zod'),
  );
  return { root, labels: JSON.parse(readFileSync(join(root, 'labels.json'), 'utf8')) as Labels };
}

const liesOn = (tool: ToolAudit | undefined) =>
  tool?.findings.filter(({ kind }) => kind === 'lies').map(({ axis }) => axis) ?? [];

it.runIf(isThere)(
  'of the labelled tools, every liar is found, no honest tool is accused, and few are unknown',
  async () => {
    const { root, labels } = ownCode();
    const { tools } = await auditFolder({ root });
    const packages = tools.filter(({ at }) => at.startsWith('packages/'));
    expect(packages.length).toBe(49);
    const lying = packages.filter((tool) => liesOn(tool).includes('accessMode'));
    expect(lying.map(({ name }) => name).sort()).toEqual([...labels.liars].sort());
    for (const [name, axis] of Object.entries(labels.otherLies))
      expect(liesOn(packages.find((each) => each.name === name))).toContain(axis);
    const unknown = packages.filter(({ verdict }) => verdict === 'unknown');
    expect(unknown.length).toBeLessThanOrEqual(4);

    const probes = tools.filter(({ at }) => at.startsWith('probe/'));
    const liars = probes.filter(({ name }) => name.startsWith('l_'));
    expect(liars.filter(({ verdict }) => verdict === 'agrees')).toEqual([]);
    expect(liars.filter(({ verdict }) => verdict === 'lies').length).toBeGreaterThanOrEqual(24);
    const honest = probes.filter(({ name }) => name.startsWith('h_'));
    expect(honest.filter(({ verdict }) => verdict === 'lies')).toEqual([]);
  },
);

it.runIf(isThere)(
  'in the editor, the labelled liars are underlined, and nothing else',
  async () => {
    const { root, labels } = ownCode();
    const found = await lint(root, 'packages/**/*.ts', {});
    const named = (axis: string) =>
      found.flatMap(({ message }) =>
        message.includes(`declares ${axis}`) ? message.split(' ')[0]! : [],
      );
    expect([...new Set(named('accessMode'))].sort()).toEqual([...labels.liars].sort());
    expect([...new Set(named(''))].length).toBe(
      labels.liars.length + Object.keys(labels.otherLies).length,
    );
  },
);
