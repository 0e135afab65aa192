import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { ESLint, type Linter } from 'eslint';
import tseslint from 'typescript-eslint';
import { afterAll } from 'vitest';
import { auditFolder, type AuditOptions } from '../../src/audit/judge/audit-tools.js';
import type { ToolAudit } from '../../src/audit/judge/judge-tool.js';
import { plugin } from '../../src/eslint.js';

const MODULES = resolve(import.meta.dirname, '../../node_modules');
const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** The types of this package, as far as tools need them. */
const TYPES = `export declare function defineTool(options: { execute?: (input: any, context: any) => unknown } & Record<string, unknown>): object;
export declare function tool(options: Record<string, unknown>): any;
export declare function toolkit(options: Record<string, unknown>, tools?: Record<string, unknown>): any;
export interface ToolContext<Context = unknown> { readonly context: Context }
export declare const AccessMode: { readonly READONLY: 'readonly'; readonly WRITE: 'write' };
`;

/** Writes files into a folder that has this package and Node's types, and returns its path. */
export function folderOf(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'audit-'));
  folders.push(root);
  const all = {
    'package.json': '{"name":"subject","type":"module"}',
    'node_modules/tooldex/package.json': '{"name":"tooldex","types":"index.d.ts"}',
    'node_modules/tooldex/index.d.ts': TYPES,
    ...files,
  };
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  mkdirSync(join(root, 'node_modules/@types'), { recursive: true });
  symlinkSync(join(MODULES, '@types/node'), join(root, 'node_modules/@types/node'));
  return root;
}

/** Audits files and returns the tools by name. */
export async function audits(
  files: Readonly<Record<string, string>>,
  options: AuditOptions = {},
): Promise<Readonly<Record<string, ToolAudit>>> {
  const { tools } = await auditFolder({ root: folderOf(files), ...options });
  return Object.fromEntries(tools.map((tool) => [tool.name, tool]));
}

export const HEAD = `import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { exec, execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { defineTool } from 'tooldex';
`;

/** Returns the source of a readonly tool with a body. */
export const reader = (name: string, body: string, more = ''): string =>
  `export const ${name} = defineTool({ name: '${name}', accessMode: 'readonly', ${more} execute: async (args: any, { context }: any) => { ${body} } });\n`;

/** Audits files in one program, which takes the time of one. Returns the first tool of each file. */
export async function auditEach(codes: readonly string[]): Promise<readonly ToolAudit[]> {
  const files = codes.map((code, at) => [`c${at}.ts`, HEAD + code]);
  const root = folderOf(Object.fromEntries(files) as Record<string, string>);
  const { tools } = await auditFolder({ root });
  return codes.map((_, at) => tools.find((tool) => tool.at.startsWith(`c${at}.ts:`))!);
}

/** Returns the messages of the ESLint rule on files. */
export async function lint(
  cwd: string,
  files: string,
  options: object,
): Promise<readonly Linter.LintMessage[]> {
  const eslint = new ESLint({
    cwd,
    overrideConfigFile: true,
    overrideConfig: {
      files: ['**/*.ts'],
      languageOptions: {
        parser: tseslint.parser,
        parserOptions: { projectService: true, tsconfigRootDir: cwd },
      },
      plugins: { tooldex: plugin as never },
      rules: { 'tooldex/honest-metadata': ['error', options] },
    },
  });
  return (await eslint.lintFiles(files)).flatMap(({ messages }) => messages);
}
