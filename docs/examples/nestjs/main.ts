// A toolkit whose client is injected: a provider of NestJS like any other, with legacy decorators, compiled to CommonJS.
// Run it:  npm i tooldex zod @nestjs/common @nestjs/core rxjs reflect-metadata && npm i -D typescript @types/node
//          npx tsc && node dist/main.js
// Its package.json has no "type": "module"; its tsconfig.json has experimentalDecorators and emitDecoratorMetadata, and
// "module": "node20", with which CommonJS may require the ES modules that NestJS is made of since version 12.
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { fail, tool, toolkit, ToolExecutor, ToolMetadataRegistry } from 'tooldex';
import { ToolModule } from 'tooldex/nestjs';
import { z } from 'zod';

@Injectable()
class WeatherClient {
  private readonly degrees = new Map([['Oslo', 4], ['Rome', 21]]);

  async now(city: string): Promise<number | undefined> {
    return this.degrees.get(city);
  }
}

const City = z.object({ city: z.string() });
const Alarm = City.extend({ below: z.number().describe('degrees Celsius') });

@Injectable()
@toolkit({ category: 'weather', accessMode: 'readonly' })
class WeatherTools {
  private readonly alarms: string[] = [];

  constructor(private readonly client: WeatherClient) {}

  @tool({ name: 'temperature', description: 'Tells the temperature in a city', inputSchema: City })
  async temperature({ city }: z.infer<typeof City>) {
    return (await this.client.now(city)) ?? fail(`There is no station in ${city}.`);
  }

  @tool({ name: 'set_alarm', description: 'Sets an alarm for frost', inputSchema: Alarm, accessMode: 'write' })
  setAlarm({ city, below }: z.infer<typeof Alarm>) {
    return this.alarms.push(`${city} below ${below}`);
  }
}

// The module finds WeatherTools among the providers and calls the instance that NestJS made, with its client.
@Module({ imports: [ToolModule.forRoot({ timeoutMs: 5_000 })], providers: [WeatherClient, WeatherTools] })
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  console.log([...app.get(ToolMetadataRegistry).getWriteTools()]);
  const executor = app.get(ToolExecutor); // Or inject it: constructor(private readonly executor: ToolExecutor) {}
  for (const call of [
    { id: '1', name: 'temperature', input: { city: 'Rome' } },
    { id: '2', name: 'temperature', input: { city: 'Atlantis' } },
    { id: '3', name: 'set_alarm', input: { city: 'Oslo', below: 0 } },
  ]) {
    const outcome = await executor.execute(call);
    console.log(outcome.status, 'value' in outcome ? outcome.value : 'message' in outcome ? outcome.message : '');
  }
  await app.close();
}
void main();
