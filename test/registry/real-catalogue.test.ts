import { describe, expect, it } from 'vitest';
import { lintTools, planExecution, type ToolMetadataRegistry } from '../../src/index.js';
import { refusal, sample } from '../tool/sample-tools.js';
import { conflict } from './naive-registry.js';
import {
  activeRows,
  allRows,
  declaredAs,
  declaredList,
  optionsOf,
  present,
  registryOfRows,
  warnIfAbsent,
  type Row,
} from './victor-catalogue.js';

warnIfAbsent('real-catalogue.test.ts');

const rows = activeRows();
const names = (test: (row: Row) => boolean) => rows.filter(test).map(({ name }) => name);
const access = (row: Row) => declaredAs(row, 'access_mode');
const writes = (row: Row) => access(row) !== 'READONLY';
/** What a tool does not declare is as strict as can be: undeclared and network access are mixed, and mixed tools are dangerous and alone. */
const accessMode = (row: Row) =>
  access(row) === undefined || access(row) === 'NETWORK' ? 'mixed' : access(row)!.toLowerCase();
const executionCategory = (row: Row) =>
  declaredAs(row, 'execution_category')?.toLowerCase() ??
  (access(row) === 'READONLY' ? 'read_only' : accessMode(row));
const dangerous = (row: Row) =>
  declaredAs(row, 'danger_level') === undefined
    ? writes(row)
    : ['HIGH', 'CRITICAL'].includes(declaredAs(row, 'danger_level')!);

describe.skipIf(!present)('a real catalogue of 64 tools', () => {
  const catalogue: ToolMetadataRegistry = registryOfRows(rows);

  it('is registered whole', () => {
    expect(rows).toHaveLength(64);
    expect([...catalogue].map(({ name }) => name)).toEqual(rows.map(({ name }) => name));
  });

  it('is refused whole without replace, for two aliases that are names of others', () => {
    const taken = new Set(rows.map(({ name }) => name));
    const clashes = rows.flatMap((row) =>
      declaredList(row, 'aliases').filter((alias) => taken.has(alias)),
    );
    expect(clashes.sort()).toEqual(['search', 'web']);
    const registry = registryOfRows([]);
    const error = refusal(() => registry.registerAll(rows.map((row) => sample(optionsOf(row)))));
    expect([error.code, registry.size, registry.revision]).toEqual(['DUPLICATE_TOOL', 0, 0]);
    expect(clashes).toContain(error.details['name']);
  });

  it('answers by names first: a tool whose name is another one’s alias is itself', () => {
    for (const { name } of rows) expect(catalogue.get(name)?.name).toBe(name);
    for (const row of rows)
      for (const alias of declaredList(row, 'aliases')) expect(catalogue.has(alias)).toBe(true);
  });

  it('has the derived sets of a plain recount', () => {
    expect([...catalogue.getWriteTools()]).toEqual(names(writes));
    expect([...catalogue.getCacheInvalidatingTools()]).toEqual(names(writes));
    expect([...catalogue.getIdempotentTools()]).toEqual(names((row) => !writes(row)));
    expect([...catalogue.getDangerousTools()]).toEqual(names(dangerous));
    expect([...catalogue.getToolsRequiringApproval()]).toEqual(
      names((row) => writes(row) || dangerous(row)),
    );
    expect([...catalogue.getCriticalTools()]).toEqual(
      names((row) => declaredAs(row, 'priority') === 'CRITICAL'),
    );
    expect([...catalogue.getParallelizableTools()]).toEqual(
      names(
        (row) =>
          accessMode(row) === 'readonly' &&
          ['read_only', 'compute', 'network'].includes(executionCategory(row)),
      ),
    );
    expect(
      rows.filter(
        (row) =>
          writes(row) && ['read_only', 'compute', 'network'].includes(executionCategory(row)),
      ),
    ).toHaveLength(6);
    for (const entry of catalogue) {
      const others = [...catalogue]
        .filter((other) => other !== entry && conflict(entry, other))
        .map(({ name }) => name);
      expect(new Set(catalogue.getConflictingTools(entry.name)), entry.name).toEqual(
        new Set(others),
      );
    }
  });

  it('is planned as its sets say, all pairs: apart where tools conflict, and beyond that only a read after a write or a tool beside itself', () => {
    const apart = (...pair: readonly string[]) =>
      planExecution(
        catalogue,
        pair.map((name) => ({ name })),
      ).batches.length === 2;
    const parallel = catalogue.getParallelizableTools();
    for (const a of catalogue) {
      expect(apart(a.name, a.name), a.name).toBe(!parallel.has(a.name) || !a.allowParallel);
      for (const b of catalogue) {
        if (a === b) continue;
        const readAndWrite =
          [a, b].filter(({ accessMode }) => accessMode === 'readonly').length === 1 &&
          ![a, b].some(({ executionCategory }) => executionCategory === 'compute');
        expect(apart(a.name, b.name), `${a.name}, ${b.name}`).toBe(
          catalogue.getConflictingTools(a.name).has(b.name) || readAndWrite,
        );
        if (parallel.has(a.name) && parallel.has(b.name))
          expect(apart(a.name, b.name), `${a.name}, ${b.name}`).toBe(false);
      }
    }
  });

  it('has the axes of a plain recount', () => {
    for (const row of rows)
      expect(catalogue.require(row.name)).toMatchObject({
        accessMode: accessMode(row),
        executionCategory: executionCategory(row),
      });
  });

  it('calls nothing idempotent or parallelizable of which the author said nothing', () => {
    const silent = names((row) => Object.keys(row.declared).length === 0);
    expect(silent).toHaveLength(10);
    for (const name of silent) {
      expect(catalogue.getIdempotentTools().has(name)).toBe(false);
      expect(catalogue.getParallelizableTools().has(name)).toBe(false);
      expect(catalogue.getToolsRequiringApproval().has(name)).toBe(true);
    }
  });

  it('has the labels of a plain recount', () => {
    for (const [field, found] of [
      ['keywords', catalogue.getAllKeywords()],
      ['stages', catalogue.getAllStages()],
      ['task_types', catalogue.getAllTaskTypes()],
    ] as const) {
      expect([...found]).toEqual(
        [
          ...new Set(
            rows
              .flatMap((row) => declaredList(row, field))
              .map((label) => label.trim().toLowerCase()),
          ),
        ].sort(),
      );
    }
    for (const stage of catalogue.getAllStages())
      expect([...catalogue.getToolsByStage(stage)]).toEqual(
        names((row) => declaredList(row, 'stages').some((each) => each.toLowerCase() === stage)),
      );
    for (const category of catalogue.getAllCategories())
      expect(catalogue.getByCategory(category).map(({ name }) => name)).toEqual(
        names(
          (row) => (row.declared['category'] as string | undefined)?.toLowerCase() === category,
        ),
      );
    expect(catalogue.filter({ available: false }).map(({ name }) => name)).toEqual(
      names((row) => !row.is_available),
    );
  });

  it('has what lint is for: undeclared safety, missing keywords and unknown stages', () => {
    const found = lintTools(catalogue);
    const toolsOf = (rule: string) =>
      found.filter((finding) => finding.rule === rule).map(({ toolName }) => toolName);
    expect(toolsOf('inferred-safety')).toEqual(names((row) => access(row) === undefined));
    for (const name of names((row) => Object.keys(row.declared).length === 0))
      for (const rule of ['missing-metadata', 'inferred-safety', 'no-keywords'])
        expect(toolsOf(rule)).toContain(name);
    expect(toolsOf('no-keywords')).toEqual(
      names((row) => declaredList(row, 'keywords').length === 0),
    );
    expect(toolsOf('missing-metadata')).toEqual(
      names((row) => row.declared['category'] === undefined),
    );
    expect(toolsOf('unknown-stage')).toEqual(['project_overview']);
    expect(toolsOf('same-keyword')).toEqual(['analysis_checkpoint', 'test', 'test', 'code_search']);
    // Mixed access through the network, as of jira, slack and teams, is an honest pair; the others are none.
    expect([...new Set(toolsOf('suspicious-pair'))]).toEqual([
      'analysis_checkpoint',
      'test',
      'lsp',
      'http',
      'web_search',
      'web_fetch',
      'search',
      'web',
    ]);
  });

  it('leaves no stale row where a later tool replaces an earlier one of the same name', () => {
    const importable = allRows().filter(({ kind }) => kind !== 'unimportable');
    const shadowed = importable.filter(({ active }) => !active);
    expect(shadowed.map(({ name }) => name).sort()).toEqual(['db', 'shell']);
    const both = registryOfRows([...shadowed, ...rows]);
    expect([...both].map(({ digest }) => digest)).toEqual(
      [...catalogue].map(({ digest }) => digest),
    );
    expect({ ...both.summary(), revision: 0 }).toEqual({ ...catalogue.summary(), revision: 0 });
    for (const keyword of shadowed.flatMap((row) => declaredList(row, 'keywords')))
      expect(both.getByKeyword(keyword)).toEqual(catalogue.getByKeyword(keyword));
  });
});
