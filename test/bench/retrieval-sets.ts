import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ToolDefinition } from '../../src/index.js';
import { definitionOf as define } from '../../src/tool/tool-definition.js';

const FOLDER = resolve(import.meta.dirname, '../../../shared/bench');

export const SET_NAMES = [
  'apibank',
  'restbench',
  'toolalpaca',
  'metatool',
  'bfcl',
  'sealtools',
  'nl2bash',
  'mix-dev',
] as const;

/** A tool in the format of the sets. */
export interface BenchTool {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly category?: string;
  readonly parameters?: readonly { readonly name: string; readonly description?: string }[];
  readonly examples?: readonly string[];
}

export interface BenchQuery {
  readonly id: string;
  readonly text: string;
  readonly relevant: readonly string[];
}

export interface BenchSet {
  readonly name: string;
  readonly tools: readonly BenchTool[];
  readonly queries: readonly BenchQuery[];
}

/** True if the sets are available. They aren't part of the repository. */
export function setsAreThere(): boolean {
  return existsSync(FOLDER);
}

export function readSet(name: string): BenchSet {
  return {
    name,
    tools: readLines(name, 'tools.jsonl') as BenchTool[],
    queries: readLines(name, 'queries.jsonl') as BenchQuery[],
  };
}

function readLines(set: string, file: string): unknown[] {
  return readFileSync(join(FOLDER, set, file), 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as unknown);
}

/** Gives every tool a valid name. Repeated names get the suffix `_2`, `_3`, and so on. */
export class NameGiver {
  readonly #taken = new Set<string>();
  /** The last number given to a name, so the thousandth repeat doesn't try the first 999 numbers again. */
  readonly #last = new Map<string, number>();

  give(name: string): string {
    const plain = name.replace(/[^A-Za-z0-9._-]/gu, '_').slice(0, 100) || '_';
    let given = plain;
    for (let number = this.#last.get(plain) ?? 1; this.#taken.has(given);) {
      number += 1;
      given = `${plain}_${number}`;
      this.#last.set(plain, number);
    }
    this.#taken.add(given);
    return given;
  }
}

/** Declares a tool of a set with `defineTool`, using only the data in the set. */
export function definitionOf(tool: BenchTool, name: string): ToolDefinition {
  const properties: [string, unknown][] = (tool.parameters ?? []).map((parameter) => [
    parameter.name,
    parameter.description
      ? { type: 'string', description: parameter.description }
      : { type: 'string' },
  ]);
  return define({
    name,
    description: isBlank(tool.description) ? tool.name : tool.description,
    ...(isBlank(tool.category) ? {} : { category: tool.category! }),
    inputSchema: { type: 'object', properties: Object.fromEntries(properties) },
  });
}

/** Returns the definitions of a set and the id for each name. */
export function definitionsOf(set: BenchSet): {
  readonly definitions: readonly ToolDefinition[];
  readonly idOf: ReadonlyMap<string, string>;
} {
  const names = new NameGiver();
  const idOf = new Map<string, string>();
  const definitions = set.tools.map((tool) => {
    const name = names.give(tool.name);
    idOf.set(name, tool.id);
    return definitionOf(tool, name);
  });
  return { definitions, idOf };
}

function isBlank(text: string | undefined): boolean {
  return text === undefined || text.trim() === '';
}
