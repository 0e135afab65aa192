import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { folderWith } from '../folder-with.js';
import type { CapabilityTool } from '../../src/capability.js';

/** A folder of manifests. */
export class ManifestTree {
  readonly root = folderWith();

  constructor(files: Readonly<Record<string, unknown>> = {}) {
    for (const [file, content] of Object.entries(files)) this.write(file, content);
  }

  /** Writes a file. Text is written unchanged, and other values as JSON. */
  write(file: string, content: unknown): void {
    const path = join(this.root, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  }

  remove(file: string): void {
    rmSync(join(this.root, file), { recursive: true });
  }
}

export function toolEntry(name: string, fields: object = {}): object {
  return {
    name,
    description: `Does ${name}`,
    parameters: { type: 'object', properties: {} },
    side_effects: 'none',
    ...fields,
  };
}

export function skillEntry(name: string, fields: object = {}): object {
  return {
    name,
    version: '1.0.0',
    instruction_prompt: 'Do it',
    required_tools: [],
    required_capabilities: [],
    safety_notes: 'none',
    ...fields,
  };
}

export function jobEntry(name: string, fields: object = {}): object {
  return {
    name,
    summary: `The job ${name}`,
    personas: ['Atlas'],
    required_skills: [],
    required_tools: [],
    task_graph: [{ task: 'Step' }],
    acceptance_criteria: ['it is done'],
    escalation_policy: { level: '1', contact: 'team' },
    ...fields,
  };
}

export function taskEntry(name: string, fields: object = {}): object {
  return {
    name,
    summary: `The task ${name}`,
    required_skills: [],
    required_tools: [],
    acceptance_criteria: ['it is done'],
    escalation_policy: { level: '1', contact: 'team' },
    ...fields,
  };
}

/** Returns `name@owner` for each item. */
export function owned(items: readonly Pick<CapabilityTool, 'owner' | 'name'>[]): readonly string[] {
  return items.map(({ owner, name }) => `${name}@${owner ?? 'shared'}`);
}

const shared = resolve(import.meta.dirname, '../../../shared');
export const atlas = join(shared, 'data/atlas');
export const present =
  existsSync(join(shared, 'golden/atlas.json')) && existsSync(join(atlas, 'functions.json'));

/** Prints once that the tests of a file don't run. */
export function warnIfAbsent(what: string): void {
  if (!present) console.warn(`${what}: skipped, the recorded data is not beside the checkout`);
}

export function readShared(path: string): unknown {
  return JSON.parse(readFileSync(join(shared, path), 'utf8'));
}

/** Returns one section of the recorded behavior. */
export function golden<T>(section: string): T {
  return (readShared('golden/atlas.json') as Record<string, T>)[section]!;
}
