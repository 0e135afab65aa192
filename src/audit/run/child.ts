import { loadTools } from '../../load/load-tools.js';
import { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import { callOnce, type RunRequest } from './session.js';

// This is the process that runs tools for an audit. It loads them and makes the calls that it
// receives. It captures `process.send` up front, so a tool can't replace it.
const send = process.send!.bind(process);
const { setTimeout: after } = globalThis;

const { tools, problems } = await loadTools(JSON.parse(process.argv[2]!) as readonly string[]);
const registry = new ToolMetadataRegistry();
registry.registerAll(tools);

/** Keeps the process alive between calls. */
const resources = process.getActiveResourcesInfo().length;
/** Milliseconds to wait for work that a tool has started but doesn't await. */
const MOST_MS = 300;

async function untilIdle(): Promise<void> {
  for (let ms = 0; ms < MOST_MS && process.getActiveResourcesInfo().length > resources; ms += 10)
    await new Promise((resolve) => after(resolve, 10));
}

process.on('message', (request: RunRequest) => {
  void callOnce(registry.require(request.name).definition, request).then(
    async (answer) => (await untilIdle(), send({ id: request.id, answer })),
    (error: unknown) =>
      send({ id: request.id, answer: { status: 'error', message: String(error), digest: '' } }),
  );
});
send({ ready: true, problems: problems.map(({ file, reason }) => `${file}: ${reason}`) });
