import { appendFileSync } from 'node:fs';
import { SessionStore, type DecisionResult, type Session } from '../../src/chat.js';
import { isToolError } from '../../src/index.js';
import { RedisStateStore } from '../../src/state.js';
import { newExecutor, scriptOf, World, type Script } from './session-world.js';

/**
 * One of several processes that continue the same session until it's completed. They run one after
 * another or at once, and each can be killed.
 *
 * It writes a line to a file for each effect, and prints a line at each checkpoint. If the outcome of a
 * call is unknown, it submits "may have run" as the call's result.
 */
const [url = '', file = '', scriptJson = '[]'] = process.argv.slice(2);
const script = JSON.parse(scriptJson) as Script;

class WrittenWorld extends World {
  override begin(callId: string, input: unknown): void {
    appendFileSync(file, `${callId}\n`);
    super.begin(callId, input);
  }
}

const store = await RedisStateStore.connect({ url, timeoutMs: 10_000 });
const sessions = new SessionStore({ store });
const engine = { model: scriptOf(script), executor: newExecutor(new WrittenWorld()) };
const options = { onCheckpoint: () => console.log('checkpoint') };

const open = async () => (await sessions.open('s')) ?? sessions.create({ id: 's' });
let session = await open();
while (session.haltedReason !== 'completed') {
  try {
    session = await step(session);
  } catch (error) {
    if (!isToolError(error, 'STALE_SESSION')) throw error;
    console.log('stale'); // Another process was faster.
    session = await open();
  }
}
console.log('completed');
await store.close();

async function step(from: Session): Promise<Session> {
  let session = from;
  for (const { kind, callId } of session.pending)
    session = sessionOf(
      kind === 'approval'
        ? session.approve(callId)
        : kind === 'question'
          ? session.answer(callId, 'red')
          : session.submitToolResult(callId, kind === 'uncertain' ? 'may have run' : 'by hand'),
    );
  session = await session.save();
  console.log('decided');
  ({ session } =
    session.messages.length === 0
      ? await session.start(engine, 'Go', options)
      : await session.continue(engine, options));
  return session;
}

function sessionOf(decided: DecisionResult): Session {
  if (!decided.ok) throw decided.error;
  return decided.session;
}
