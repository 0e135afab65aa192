import { RedisStateStore } from '../../src/state.js';

/**
 * One of several processes that share a Redis. It performs the task in its first argument and prints the
 * result as JSON.
 */
const [task = '', url = '', name = ''] = process.argv.slice(2);
const store = await RedisStateStore.connect({ url, timeoutMs: 10_000 });

const ROUNDS = 200;
const INCREMENTS = 500;

if (task === 'work') {
  // All processes wait for each other, so they really race.
  await store.increment('ready', 1);
  while (Number(await store.get('ready')) < 4)
    await new Promise((resolve) => setImmediate(resolve));
  const won: number[] = [];
  for (let round = 0; round < ROUNDS; round++)
    if (await store.compareAndSet(`round ${round}`, undefined, name)) won.push(round);
  let applied = 0;
  let highest = 0;
  for (let done = 0; done < INCREMENTS; done += 50) {
    await Promise.all(Array.from({ length: 50 }, () => store.increment('sum', 0.25)));
    const limited = await Promise.all(
      Array.from({ length: 50 }, () => store.increment('limited', 1, { max: 777 })),
    );
    applied += limited.filter((result) => result.applied).length;
    highest = Math.max(highest, ...limited.map((result) => result.value ?? 0));
  }
  console.log(JSON.stringify({ won, applied, highest }));
  await store.close();
}

if (task === 'close') {
  console.log(JSON.stringify({ available: store.available }));
  await store.close();
}
