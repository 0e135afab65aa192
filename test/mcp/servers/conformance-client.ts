import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { McpDiscovery } from '../../../src/mcp.js';

// The client for conformance.test.ts. It discovers the tools of the server in the last argument, logs in
// if necessary, and calls each tool.

const url = process.argv.at(-1)!;
const { client_id, client_secret, private_key_pem, signing_algorithm } = JSON.parse(
  process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}',
) as Readonly<Partial<Record<string, string>>>;
const isMachine = process.env['MCP_CONFORMANCE_SCENARIO']?.includes('client-credentials') === true;
/** The maximum number of logins that a user would accept. */
const MOST_LOGINS = 3;

/** Returns the URL of the authorization server, which an operator with a client secret would know. */
async function issuerOf(server: URL): Promise<string> {
  for (const path of [
    `/.well-known/oauth-protected-resource${server.pathname}`,
    '/.well-known/oauth-protected-resource',
  ]) {
    const answer = await fetch(new URL(path, server));
    if (answer.ok)
      return ((await answer.json()) as { authorization_servers: readonly [string] })
        .authorization_servers[0];
  }
  return server.origin;
}

const secret =
  (client_secret ?? private_key_pem) === undefined
    ? {}
    : {
        ...(client_secret === undefined
          ? { client_key_env: 'SECRET', signing_algorithm }
          : { client_secret_env: 'SECRET' }),
        issuer: await issuerOf(new URL(url)),
      };
const oauth = {
  client_metadata_url: 'https://conformance-test.local/client-metadata.json',
  ...(client_id !== undefined && { client_id }),
  ...secret,
  ...(isMachine && { grant: 'client_credentials' }),
};
const discovery = new McpDiscovery(
  { mcpServers: { server: { url, oauth } } },
  {
    logins: mkdtempSync(join(tmpdir(), 'tooldex-conformance-')),
    env: { SECRET: client_secret ?? private_key_pem },
    onElicit: () => Promise.resolve({ action: 'accept' }),
  },
);

/** Acts like the browser of a user who approves. */
const open = async (address: string) => {
  const answer = await fetch(address, { redirect: 'manual' });
  await fetch(answer.headers.get('location')!);
};

async function use(): Promise<void> {
  await discovery.refresh({ force: true });
  for (const { kind, message } of discovery.findings())
    if (kind === 'unreachable') throw new Error(message);
  for (const { providers, inputSchema } of discovery.definitions()) {
    const { required = [] } = inputSchema as { required?: readonly string[] };
    await discovery.callTool(
      'server',
      String(providers?.[0]?.config?.['tool']),
      Object.fromEntries(required.map((name) => [name, 1])),
      {},
    );
  }
}

for (let logins = 0; ; logins++) {
  const error = await use().then(
    () => undefined,
    (reason: Error) => reason,
  );
  if (error === undefined) break;
  if (logins === MOST_LOGINS || !error.message.includes('mcp login')) throw error;
  await discovery.login('server', { open });
}
await discovery.close();
