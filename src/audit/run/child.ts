import { loadTools } from '../../load/load-tools.js';
import { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import { callOnce, READY, type RunRequest } from './session.js';

// The process that runs tools for an audit. This process loads the tools and makes the calls that
// it receives. This process saves `process.send` before any tool can replace it.
const send = process.send!.bind(process);

const { tools } = await loadTools(JSON.parse(process.argv[2]!) as readonly string[]);
const registry = new ToolMetadataRegistry();
registry.registerAll(tools);

process.on('message', (request: RunRequest) => {
  const { definition } = registry.require(request.name);
  void callOnce(definition, request).then((answer) => send({ id: request.id, ...answer }));
});
send(READY);
