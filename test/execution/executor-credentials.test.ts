import { expect, it } from 'vitest';
import { brief, reader, setup } from './fixtures/executor-setup.js';

const auth = { required: true, env: { WEATHER_KEY: 'required' } } as const;

it("a call without the tool's credentials is denied unless a provider can serve it", async () => {
  const tool = reader('forecast', () => 'sunny', { auth, providers: [{ name: 'metro' }] });
  const without = setup([tool], { env: {} });
  expect(await without.executor.execute({ id: '1', name: 'forecast' })).toMatchObject({
    status: 'denied',
    rule: 'missing-credentials',
  });
  expect(without.events.filter(({ type }) => type === 'decision')).toMatchObject([
    { verdict: 'deny', rule: 'missing-credentials' },
  ]);
  expect(
    brief(
      await setup([tool], { env: { WEATHER_KEY: 'x' } }).executor.execute({
        id: '1',
        name: 'forecast',
      }),
    ),
  ).toBe('ok "sunny"');
  expect(
    brief(
      await setup([tool], {
        env: {},
        providers: { metro: () => ({ call: () => 'cloudy' }) },
      }).executor.execute({ id: '1', name: 'forecast' }),
    ),
    'the provider may do without',
  ).toBe('ok "cloudy"');
});
