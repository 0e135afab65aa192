// A chat in Next whose tools run under a policy: reading runs at once, and the user approves a refund in the browser first.
// Run it:  npm i tooldex zod ai@6 @ai-sdk/react@3 next react react-dom && npm i -D typescript @types/node @types/react && npx next dev
// tsconfig.json has "experimentalDecorators": true, because Next doesn't compile standard decorators as tooldex needs them.
// Without a key, the model in model.ts answers. With AI_GATEWAY_API_KEY, a real model does.
import { convertToModelMessages, stepCountIs, streamText, type UIMessage } from 'ai';
import { toAISDKTools } from 'tooldex/interop';
import { model } from './model';
import { executor, registry } from './tools';

/** Signs approval requests, because the messages come from the browser. Servers that share a chat need the same secret. */
const secret = process.env.APPROVAL_SECRET ?? crypto.randomUUID();

export async function POST(request: Request): Promise<Response> {
  const { id, messages } = (await request.json()) as { id: string; messages: UIMessage[] };
  const result = streamText({
    model,
    system: 'You serve the customers of a shop.',
    messages: await convertToModelMessages(messages),
    // Your program takes the principal from its login.
    tools: toAISDKTools(registry, { executor, conversationId: id, principal: 'customer-1' }),
    experimental_toolApprovalSecret: secret,
    stopWhen: stepCountIs(5),
  });
  return result.toUIMessageStreamResponse();
}
