'use client';
import { useState } from 'react';
import { useChat } from '@ai-sdk/react';
import { getToolName, isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';

export default function Page() {
  const [text, setText] = useState('Please refund order 17.');
  const { messages, sendMessage, addToolApprovalResponse } = useChat({
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses, // After the last answer, the approved calls run.
  });

  return (
    <main>
      {messages.flatMap(({ id, role, parts }) => parts.map((part, index) => {
        const key = `${id}-${index}`;
        if (part.type === 'text') return <p key={key}>{role}: {part.text}</p>;
        if (!isToolUIPart(part)) return undefined;
        return (
          <p key={key}>
            {getToolName(part)} {JSON.stringify(part.input)}: {part.state}
            {part.state === 'approval-requested' && [true, false].map((approved) => (
              <button key={String(approved)} onClick={() => void addToolApprovalResponse({ id: part.approval.id, approved })}>
                {approved ? 'Approve' : 'Deny'}
              </button>
            ))}
          </p>
        );
      }))}
      <form onSubmit={(event) => { event.preventDefault(); void sendMessage({ text }); setText(''); }}>
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
      </form>
    </main>
  );
}
