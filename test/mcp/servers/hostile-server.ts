import { createInterface } from 'node:readline';

/** Implements just enough of the 2025 protocol to misbehave in the way that the argument selects. */
const [mode = ''] = process.argv.slice(2);
const send = (message: object) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const tool = (name: unknown, fields: object = {}) => ({
  name,
  description: 'Does it',
  inputSchema: { type: 'object' },
  ...fields,
});
const fine = tool('fine');
let calls = 0;

setTimeout(() => process.exit(9), 120_000).unref();
if (mode === 'dies') process.exit(1);
if (mode === 'last words') {
  process.stderr.write(
    `${'noise\n'.repeat(2_000)}Error: API key ${process.env['API_KEY']} was refused, token=abcdef123456\n    at Object.<anonymous> (/home/me/server.js:1:1)\n`,
  );
  process.exitCode = 1;
  process.stdin.unref();
}
if (mode === 'flood') setInterval(() => process.stderr.write('noise '.repeat(20_000)), 1);
if (mode === 'junk') process.stdout.write('Welcome to my server!\n{"half": \nnull\n[]\n');

function deep(levels: number): object {
  return levels === 0 ? {} : { type: 'object', properties: { a: deep(levels - 1) } };
}

/** Returns a page by its cursor. */
function page(cursor: string | undefined): object {
  switch (mode) {
    case 'endless':
      return { tools: [tool(`t${cursor ?? 0}`)], nextCursor: String(Number(cursor ?? 0) + 1) };
    case 'same cursor':
      return { tools: [tool(cursor === undefined ? 'first' : 'second')], nextCursor: 'again' };
    case 'many':
      return { tools: Array.from({ length: 1_001 }, (_, index) => tool(`t${index}`)) };
    case 'large': {
      const at = Number(cursor ?? 0);
      return {
        tools: Array.from({ length: 50 }, (_, index) =>
          tool(`${index % 2 === 0 ? 'read' : 'write'}_${at + index}`),
        ),
        ...(at + 50 < 5_000 ? { nextCursor: String(at + 50) } : {}),
      };
    }
    case 'tasks': // The tool runs only as a task until the first call.
      return {
        tools: [
          tool('render', {
            description: 'Renders a film',
            execution: { taskSupport: calls === 0 ? 'required' : 'forbidden' },
          }),
          tool('preview', {
            description: 'Renders a film as a preview',
            execution: { taskSupport: 'optional' },
          }),
        ],
      };
    case 'long description':
      return { tools: [fine, tool('long', { description: 'x'.repeat(10 * 2 ** 20) })] };
    case 'too long':
      return { tools: [tool('long', { description: 'x'.repeat(17_000_000) })] };
    case 'bombs':
      return {
        tools: [
          fine,
          tool('deep', { inputSchema: deep(500) }),
          tool('circle', {
            inputSchema: {
              type: 'object',
              $ref: '#/$defs/a',
              $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } },
            },
          }),
          tool('pattern', {
            inputSchema: {
              type: 'object',
              properties: { a: { type: 'string', pattern: '^(a+)+$' } },
            },
          }),
        ],
      };
    case 'names':
      return {
        tools: [
          'mcp.other.echo',
          'a b',
          '__proto__',
          'constructor',
          '../up',
          'x'.repeat(300),
          'fine',
          'fine',
          'f\u200bine',
          'a\nb',
        ].map((name) => tool(name)),
      };
    default:
      return { tools: [fine] };
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line) as {
    id?: unknown;
    method: string;
    params?: { cursor?: string; name?: string };
  };
  if (mode === 'last words') return;
  if (method === 'initialize')
    return send({
      id,
      result: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: mode, version: '1' },
      },
    });
  if (method === 'tools/list') {
    if (mode === 'mute listing') return undefined;
    send({ id, result: page(params?.cursor) });
    // Each listing sends 50 change announcements, so a client that lists again for each announcement
    // would never stop.
    if (mode === 'always changing')
      for (let i = 0; i < 50; i++) send({ method: 'notifications/tools/list_changed' });
    return undefined;
  }
  if (method === 'tools/call') calls += 1;
  if (method === 'tools/call')
    return send({
      id,
      result: {
        content: [],
        structuredContent: { tool: params?.name },
      },
    });
  return id === undefined
    ? undefined
    : send({ id, error: { code: -32601, message: 'Method not found' } });
});
