import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a generated server received in one request. The server also answers with it. */
export interface SeenRequest {
  readonly operation: string;
  readonly url: string;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

type Answer = (seen: SeenRequest) => {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
};

/**
 * Serves the paths of an OpenAPI document. Each operation answers with the received request or with a
 * configured answer. Anything that isn't in the document gets a 404.
 */
export async function serveDocument(
  document: { readonly paths: Readonly<Record<string, object>> },
  answers: Readonly<Record<string, Answer>> = {},
) {
  const seen: SeenRequest[] = [];
  const server: Server = createServer((request, response) => {
    void (async () => {
      const body = await bodyOf(request);
      const path = new URL(request.url!, 'http://server').pathname;
      const route = Object.entries(document.paths).find(([template]) => fits(template, path));
      const operation = route?.[1] as Record<string, { operationId?: string }> | undefined;
      const id = operation?.[request.method!.toLowerCase()]?.operationId;
      if (id === undefined) {
        response.writeHead(404).end('No such operation');
        return;
      }
      const each = { operation: id, url: request.url!, headers: request.headers, body };
      seen.push(each);
      const answer = answers[id]?.(each) ?? { body: JSON.stringify({ ok: true, ...each }) };
      response
        .writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers })
        .end(answer.body);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

function fits(template: string, path: string): boolean {
  const [wanted, given] = [template.replace(/\?.*/, '').split('/'), path.split('/')];
  return (
    wanted.length === given.length &&
    wanted.every((part, index) => part.startsWith('{') || part === given[index])
  );
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
