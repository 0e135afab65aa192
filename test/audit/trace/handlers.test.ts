import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { traceTools } from '../../../src/audit/trace/trace-tools.js';
import { changes, trace } from './subject.js';

const SERVER = `import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import fs from 'node:fs';
import { z } from 'zod';
const write = (path) => fs.writeFileSync(path, 'x');
`;

describe('the search for tool handlers', () => {
  it.each([
    [
      'passed to registerTool',
      `const server = new McpServer(); server.registerTool('a', { description: 'A' }, async ({ path }) => write(path)); server.registerTool('b', {}, async () => 1);`,
    ],
    [
      'passed to server.tool after a schema',
      `const server = new McpServer(); server.tool('a', 'text', { path: z.string() }, async ({ path }) => write(path)); server.tool('b', async () => 1);`,
    ],
    [
      'in the object passed to addTool',
      `import { FastMCP } from 'fastmcp'; const server = new FastMCP(); server.addTool({ name: 'a', execute: async (args) => write(args.path) }); server.addTool({ name: 'b', execute: async () => 1 });`,
    ],
    [
      'in a switch on the tool name',
      `const server = new Server(); server.setRequestHandler(CallToolRequestSchema, async (request) => { switch (request.params.name) { case 'a': return write(request.params.arguments.path); case 'b': return 1; default: throw new Error(); } });`,
    ],
    [
      'in a switch on the tool name inside main()',
      `async function main() { const server = new Server(); server.setRequestHandler(CallToolRequestSchema, async (request) => { switch (request.params.name) { case 'a': return write(request.params.arguments.path); case 'b': return 1; } }); } if (process.argv[1] === 'x') main();`,
    ],
    [
      'in a switch on the tool name inside a factory',
      `export function create() { const server = new Server(); server.setRequestHandler(CallToolRequestSchema, (request) => call(request)); return server; } const call = ({ params: { name, arguments: input } }) => { switch (name) { case 'a': return write(input.path); case 'b': return 1; } };`,
    ],
    [
      'in a switch on the tool name inside a method',
      `export class Main { constructor() { this.server = new Server(); } listen() { this.server.setRequestHandler(CallToolRequestSchema, async ({ params }) => this.call(params.name, params.arguments)); } call(name, input) { if (name === 'a') return write(input.path); if (name === 'b') return 1; } }`,
    ],
    [
      'in a table in a factory',
      `export const create = () => { const table = { a: (input) => write(input.path), b: () => 1 }; const server = new Server(); server.setRequestHandler(CallToolRequestSchema, async ({ params }) => table[params.name](params.arguments)); };`,
    ],
    [
      'in an if that compares the tool name',
      `const server = new Server(); server.setRequestHandler(CallToolRequestSchema, async (request) => { const { name, arguments: input } = request.params; if (name === 'a') return write(input.path); if (name === 'b') return 1; throw new Error(); });`,
    ],
    [
      'in an object that maps names to functions',
      `const handlers = { a: (args) => write(args.path), b: () => 1 }; const server = new Server(); server.setRequestHandler(CallToolRequestSchema, async ({ params }) => handlers[params.name](params.arguments));`,
    ],
    [
      'in a list of definitions',
      `const tools = [{ name: 'a', handler: (args) => write(args.path) }, { name: 'b', handler: () => 1 }]; const server = new Server(); server.setRequestHandler(CallToolRequestSchema, async ({ params }) => tools.find((tool) => tool.name === params.name).handler(params.arguments));`,
    ],
    [
      'in a loop over definitions',
      `const server = new McpServer(); for (const tool of [{ def: { name: 'a' }, run: (args) => write(args.path) }, { def: { name: 'b' }, run: () => 1 }]) server.registerTool(tool.def.name, tool.def, async (args) => tool.run(args));`,
    ],
    [
      'in a Map that is filled by a function',
      `const all = new Map(); function register(name, handler) { all.set(name, handler); } register('a', (args) => write(args.path)); register('b', () => 1); const server = new Server(); server.setRequestHandler(CallToolRequestSchema, async ({ params }) => all.get(params.name)(params.arguments));`,
    ],
    [
      'in a class that has its name in a field',
      `class Tool { async run(args) { return this.execute(args); } } class A extends Tool { name = 'a'; async execute(args) { write(args.path); } } class B extends Tool { name = 'b'; async execute() { return 1; } } const server = new McpServer(); for (const tool of [new A(), new B()]) server.registerTool(tool.name, {}, (args) => tool.run(args));`,
    ],
    [
      'in a wrapper function',
      `const server = new McpServer(); const safely = (handler) => async (args) => { try { return await handler(args); } catch (error) { return { isError: true }; } }; server.registerTool('a', {}, safely(({ path }) => write(path))); server.registerTool('b', {}, safely(() => 1));`,
    ],
    [
      'in a method of the class that owns the server',
      `class Main { constructor() { this.server = new McpServer(); } start() { this.server.registerTool('a', {}, (args) => this.save(args)); this.server.registerTool('b', {}, this.read.bind(this)); } save({ path }) { write(path); } read() { return 1; } } new Main().start();`,
    ],
    [
      'in a function that is never visibly called',
      `export function register(server) { server.registerTool('a', {}, ({ path }) => write(path)); server.registerTool('b', {}, () => 1); }`,
    ],
    [
      'in a table of tools that a package creates',
      `import { tool } from 'tools'; function toolsOf(platform) { return { a: tool({ description: 'A', execute: async ({ path }) => write(path) }), b: tool({ execute: async () => 1 }) }; } export { toolsOf };`,
    ],
    [
      'whose name is a constant',
      `const NAMES = Object.freeze({ A: 'a', B: \`\${'b'}\` }); const server = new McpServer(); server.registerTool(NAMES.A, {}, ({ path }) => write(path)); server.registerTool(NAMES.B, {}, () => 1);`,
    ],
  ])('finds a handler %s', async (_, code) => {
    expect(await changes(SERVER + code, 'a', 'b')).toEqual({ a: ['fs.writeFileSync'], b: [] });
  });

  it('finds the handler in CommonJS that was compiled from TypeScript', async () => {
    const files = {
      'package.json': '{"main":"index.js"}',
      'index.js': `"use strict"; Object.defineProperty(exports, "__esModule", { value: true }); const tools_1 = require("./tools"); const { McpServer } = require("@modelcontextprotocol/sdk/server/mcp.js"); (0, tools_1.register)(new McpServer());`,
      'tools.js': `"use strict"; var __importDefault = (this && this.__importDefault) || function (mod) { return (mod && mod.__esModule) ? mod : { "default": mod }; }; Object.defineProperty(exports, "__esModule", { value: true }); exports.register = register; const fs_1 = __importDefault(require("fs")); function register(server) { server.registerTool("a", {}, ({ path }) => fs_1.default.writeFileSync(path, "x")); server.registerTool("b", {}, () => 1); }`,
    };
    expect(await changes(files, 'a', 'b')).toEqual({ a: ['fs.writeFileSync'], b: [] });
  });

  it('finds the handler in a bundle that loads its modules lazily', async () => {
    const bundle = `var __esm = (fn, res) => function __init() { return fn && (res = (0, fn[Object.getOwnPropertyNames(fn)[0]])(fn = 0)), res; }; var __toESM = (mod) => ({ default: mod });
var import_fs, Writer; var init_writer = __esm({ "src/writer.ts"() { import_fs = __toESM(require("fs")); Writer = class { save(path) { import_fs.default.promises.writeFile(path, ''); } }; } });
var server; var init_server = __esm({ "src/server.ts"() { init_writer(); const w = new Writer(); server.registerTool('a', {}, ({ path }) => w.save(path)); server.registerTool('b', {}, () => 1); } }); init_server();`;
    expect(
      await changes({ 'package.json': '{"main":"index.js"}', 'index.js': bundle }, 'a', 'b'),
    ).toEqual({ a: ['fs.writeFile'], b: [] });
  });

  it('finds the handler in TypeScript with decorators', async () => {
    const files = {
      'package.json': '{"main":"index.ts"}',
      'index.ts': `import { tool } from 'tooldex'; import { writeFile } from 'node:fs/promises';\n@tool({ name: 'a' }) export class A { constructor(private readonly folder: string) {} async execute(input: { path: string }): Promise<void> { await writeFile(this.folder + input.path, ''); } }\n@tool({ name: 'b' }) export class B { execute() { return 1 as const; } }`,
    };
    expect(await changes(files, 'a', 'b')).toEqual({ a: ['fs.writeFile'], b: [] });
  });

  it('reports the location of the handler and the path to the call that has the effect', async () => {
    const { tools } = await trace(
      {
        'index.js': `${SERVER}const server = new McpServer();\nconst save = (path) =>\n  write(path);\nserver.registerTool('a', {}, ({ path }) =>\n  save(path));`,
      },
      ['a'],
    );
    expect(tools[0]).toMatchObject({
      handler: 'index.js:10',
      effects: [{ at: 'index.js:6', via: ['index.js:11', 'index.js:9'] }],
    });
  });

  it("returns no handler if the tool's name isn't in the code", async () => {
    const { tools } = await trace(
      { 'index.js': `${SERVER}new McpServer().registerTool('a', {}, () => 1);` },
      ['b'],
    );
    expect(tools).toEqual([
      { name: 'b', handler: undefined, effects: [], unknowns: ['its handler was not found'] },
    ]);
  });

  it("a tool with an empty name doesn't hide other tools", async () => {
    const { tools } = await trace(
      {
        'index.js': `${SERVER}new McpServer().registerTool('a', {}, () => 1);`,
        'tools.json': '{}',
      },
      ['a', ''],
    );
    expect(tools.map(({ handler }) => handler !== undefined)).toEqual([true, false]);
  });

  it('skips dangling symlinks and links to a device', async () => {
    const root = mkdtempSync(join(tmpdir(), 'trace-links-'));
    writeFileSync(join(root, 'package.json'), '{"type":"module","main":"index.js"}');
    writeFileSync(
      join(root, 'other.js'),
      `${SERVER}new McpServer().registerTool('a', {}, ({ path }) => fs.writeFileSync(path, ''));`,
    );
    symlinkSync('/dev/zero', join(root, 'index.js'));
    symlinkSync('nowhere.js', join(root, 'nothing.js'));
    symlinkSync('round.js', join(root, 'round.js'));
    const { tools, skipped } = await traceTools({ root, tools: [{ name: 'a' }] });
    expect(tools[0]!.effects.map(({ call }) => call)).toEqual(['fs.writeFileSync']);
    expect(skipped).toEqual([{ name: 'index.js', reason: 'not a file' }]);
  });
});
