import { ProviderRouter, SharedHealth } from '../../src/providers.js';
import { RedisStateStore } from '../../src/state.js';
import { eventually } from '../state/redis-server.js';

/** One of several processes that share a Redis: does what its first argument says and prints what came of it as JSON. */
const [task = '', url = ''] = process.argv.slice(2);
const PROCESSES = 4;
const store = await RedisStateStore.connect({ url, timeoutMs: 10_000 });
await eventually(() => store.available, 'the store is available');

/** All wait for each other, so that they really race. */
async function together(step: string): Promise<void> {
  await store.increment(step, 1);
  await eventually(async () => Number(await store.get(step)) >= PROCESSES, step);
}

if (task === 'probe') {
  let probes = 0;
  let isUp = false;
  const a = {
    call: async () => {
      if (!isUp) throw new Error('down');
      probes += 1;
      // Until all others have decided what to do with the provider, the probe is not answered.
      await together('decided');
      return 'back';
    },
  };
  const providers = ['a', 'b'].map((name) => ({ name, healthCheckIntervalMs: 0 }));
  const router = new ProviderRouter({
    toolName: 'search',
    providers,
    factories: { a: () => a, b: () => ({ call: () => 'from b' }) },
    store,
    random: () => 1,
    baseMs: 200,
  });
  const call = () => router.call({}, {}, { repeatable: true });
  await together('started');
  await call();
  await eventually(
    () => router.snapshot()[0]!.state === 'backing-off',
    'the provider is left alone',
  );
  await together('ejected');
  const before = router.snapshot()[0]!.failures;
  isUp = true;
  await eventually(() => Date.now() >= router.snapshot()[0]!.backoffUntil!, 'the backoff ends');
  await together('ended');
  const results = await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      const result = await call();
      return { index, probe: result.attempts[0]!.probe === true };
    }).concat(
      // A process without a probe of its own has decided when a call went past the provider.
      call().then(async () => {
        if (probes === 0) await together('decided');
        return { index: -1, probe: false };
      }),
    ),
  );
  // A message can be lost when the machine is busy; a process that goes on calling looks again.
  await eventually(
    async () => (await call(), router.snapshot()[0]!.state === 'available'),
    'the provider is back',
  );
  console.log(JSON.stringify({ before, probes: results.filter(({ probe }) => probe).length }));
  await router.close();
}

if (task === 'health') {
  const health = new SharedHealth({ store });
  await together('started');
  for (let index = 0; index < 10_000; index += 1) {
    health.record({ kind: 'tool', name: 'search', success: index % 10 !== 0, latencyMs: index });
    if (index % 1_000 === 0) await health.flush();
  }
  await health.flush();
  await together('recorded');
  await health.refresh('tool', 'search');
  console.log(JSON.stringify(health.lifetime('tool', 'search')));
  await health.close();
}

await store.close();
