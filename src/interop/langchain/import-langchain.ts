import type * as Messages from '@langchain/core/messages/tool';
import type * as Tools from '@langchain/core/tools';
import type * as Schemas from '@langchain/core/utils/json_schema';
import { ToolError } from '../../core/errors.js';

/** What is used of LangChain. */
export type LangChain = Pick<typeof Tools, 'DynamicStructuredTool'> & Pick<typeof Messages, 'ToolMessage' | 'isDirectToolOutput'> & Pick<typeof Schemas, 'toJsonSchema'>;

/** @throws ToolError `MISSING_PACKAGE` when it is not installed. */
export async function importLangChain(): Promise<LangChain> {
  try {
    const [{ DynamicStructuredTool }, { ToolMessage, isDirectToolOutput }, { toJsonSchema }] = await Promise.all([import('@langchain/core/tools'), import('@langchain/core/messages/tool'), import('@langchain/core/utils/json_schema')]);
    return { DynamicStructuredTool, ToolMessage, isDirectToolOutput, toJsonSchema };
  } catch (cause) {
    throw new ToolError('MISSING_PACKAGE', 'Expected the package @langchain/core, found it not installed; run npm install @langchain/core', { cause });
  }
}
