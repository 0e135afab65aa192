import { z } from 'zod';
import { fail, Priority, tool } from '../../src/index.js';
import { evaluate, ExpressionProblem } from './expression.js';
import { COMPUTE_TOOL } from './compute-tool.js';

/** Maximum length of an expression in characters. */
const MAX_LENGTH = 1_000;

const Input = z.object({
  expression: z
    .string()
    .min(1)
    .max(MAX_LENGTH)
    .describe('Arithmetic such as (3 + 4.5) * 2^10 / sqrt(2)'),
});

/** Evaluates an arithmetic expression without running code. */
@tool({
  ...COMPUTE_TOOL,
  name: 'calculate',
  description:
    'Computes an arithmetic expression with + - * / % ^, parentheses, pi, e and the functions abs, sign, sqrt, cbrt, round, floor, ceil, trunc, exp, ln, log10, log2, sin, cos, tan, asin, acos, atan (radians), min, max, sum, avg. Uses double precision (about 15 digits). The result of % has the sign of its left operand.',
  inputSchema: Input,
  priority: Priority.HIGH,
  keywords: [
    'calculate',
    'compute',
    'arithmetic',
    'math',
    'sum',
    'percent',
    'square root',
    'formula',
    'multiply',
    'divide',
    'how much is',
    'what is',
  ],
  mandatoryKeywords: ['calculate'],
  stages: ['analysis', 'execution', 'verification'],
  taskTypes: ['analysis'],
  examples: [
    'What is 17% of 2345?',
    'Calculate (12.5 + 7) * 3',
    'What is the square root of 2?',
    'How much is 2 to the power of 40?',
  ],
})
export class Calculate {
  execute({ expression }: z.input<typeof Input>) {
    try {
      return { result: evaluate(expression) };
    } catch (error) {
      if (error instanceof ExpressionProblem) return fail(error.message);
      throw error;
    }
  }
}
