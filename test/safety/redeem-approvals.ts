import { RedisStateStore } from '../../src/state/redis/redis-state-store.js';
import { Approvals, type Approval } from '../../src/safety/approvals.js';

/** Redeems the approvals given as arguments, all at once, and prints how many of them it could; run by a test in several processes. */
const [url, key, ...texts] = process.argv.slice(2) as [string, string, ...string[]];
const store = await RedisStateStore.connect({ url, timeoutMs: 10_000 });
const approvals = new Approvals({ store, key: Buffer.from(key, 'hex') });
// All start together: this line says that this process is ready, one on its input that all are.
process.stdout.write('ready\n');
await new Promise((resolve) => process.stdin.once('data', resolve));
const answers = await Promise.allSettled(
  texts.map((text) => approvals.redeem(JSON.parse(text) as Approval)),
);
process.stdout.write(
  `${JSON.stringify(answers.map((answer) => (answer.status === 'fulfilled' ? 'redeemed' : (answer.reason as { code?: unknown }).code)))}\n`,
);
await store.close();
process.stdin.destroy();
